import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { findFreePort, HOST } from '../../testbed/servers/ports.mjs';
import { deafen } from '../../testbed/proxies/deaf-link.mjs';

/** An address that leads to one server or another one, as a name in the DNS does: connections that exist stay where they are. */
export class Forwarder {
  #server;
  #sockets = new Set();
  /** Those of connections that listen, by that to the client. */
  #subscribers = new Map();
  target;

  static async start(target) {
    const forwarder = new Forwarder();
    forwarder.target = target;
    forwarder.#server = createServer((client) => forwarder.#connected(client));
    forwarder.port = await findFreePort();
    forwarder.#server.listen({ host: HOST, port: forwarder.port });
    await once(forwarder.#server, 'listening');
    return forwarder;
  }

  get url() {
    return `redis://${HOST}:${this.port}`;
  }

  /** What either end of the connections that listen sends gets lost; the server sees them end if `serverNotices`. */
  deafenSubscribers(how) {
    for (const [client, upstream] of this.#subscribers) {
      client.unpipe();
      upstream.unpipe();
      deafen(client, upstream, how);
    }
    this.#subscribers.clear();
  }

  #connected(client) {
    const { host, port } = this.target;
    const upstream = connect({ host, port, noDelay: true });
    client.setNoDelay(true);
    client.on('data', (chunk) => {
      if (/subscribe/i.test(chunk.toString('latin1'))) this.#subscribers.set(client, upstream);
    });
    client.on('close', () => this.#subscribers.delete(client));
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      this.#sockets.add(socket);
      socket.pipe(other);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }

  stop() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
