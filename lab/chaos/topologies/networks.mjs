import { detours } from '../../testbed/proxies/detours.mjs';
import { RespProxy } from '../../testbed/proxies/resp-proxy.mjs';

/** Besides the clients: the operator that releases locks by force. */
export const OPERATOR = 'operator';

/** A run says far too much to remember it. */
const startProxy = (server) => RespProxy.start(server, { remembers: false });

/** The network between clients and servers: for each client one proxy before each server. */
export class Networks {
  #byClient = new Map();
  #servers;

  static async start(clients, servers) {
    const networks = new Networks();
    networks.#servers = servers;
    for (const client of [...clients, OPERATOR]) {
      networks.#byClient.set(client, await Promise.all(servers.map(startProxy)));
    }
    return networks;
  }

  of(client) {
    return this.#byClient.get(client);
  }

  /** The proxy of a client before one of the servers. */
  before(server, client) {
    return this.of(client)[this.#servers.indexOf(server)];
  }

  /** How a client finds its proxies if servers tell it their addresses: the `natMap` of ioredis. */
  detours(client) {
    return detours(this.#servers, this.of(client));
  }

  close() {
    return Promise.all([...this.#byClient.values()].flat().map((proxy) => proxy.close()));
  }
}
