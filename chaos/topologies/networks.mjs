import { Proxy } from '../harness/proxy.mjs';

/** What lies between clients and servers: for each client one proxy before each server. */
export class Networks {
  #byClient = new Map();

  static async start(clients, servers) {
    const networks = new Networks();
    for (const client of clients) {
      networks.#byClient.set(client, await Promise.all(servers.map(({ host, port }) => Proxy.start({ host, port }))));
    }
    return networks;
  }

  of(client) {
    return this.#byClient.get(client);
  }

  close() {
    return Promise.all([...this.#byClient.values()].flat().map((proxy) => proxy.close()));
  }
}
