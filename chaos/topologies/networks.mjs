import { Proxy } from '../harness/proxy.mjs';

/** Beside the clients: who releases locks by force. */
export const OPERATOR = 'operator';

/** What lies between clients and servers: for each client one proxy before each server. */
export class Networks {
  #byClient = new Map();
  #servers;

  static async start(clients, servers) {
    const networks = new Networks();
    networks.#servers = servers;
    for (const client of [...clients, OPERATOR]) {
      networks.#byClient.set(client, await Promise.all(servers.map(({ host, port }) => Proxy.start({ host, port }))));
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

  /** How a client finds its proxies where it is told the addresses of servers: what ioredis calls `natMap`. */
  detours(client) {
    const detour = ({ host, port }, i) => [`${host}:${port}`, { host, port: this.of(client)[i].port }];
    return Object.fromEntries(this.#servers.map(detour));
  }

  close() {
    return Promise.all([...this.#byClient.values()].flat().map((proxy) => proxy.close()));
  }
}
