// @ts-check
import { once } from 'node:events';
import { createServer } from 'node:net';
import { findFreePort, HOST } from '../servers/ports.mjs';

/** A TCP address of this machine that can refuse connections for some time, and keeps its port. */
export class TcpListener {
  #server;
  /** Known once it listens. */
  port = 0;

  /** @param {(client: import('node:net').Socket) => void} connected */
  constructor(connected) {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, connected);
  }

  get host() {
    return HOST;
  }

  get url() {
    return `redis://${HOST}:${this.port}`;
  }

  /** Starts to accept connections, on a free port. */
  async listen() {
    for (;;) {
      this.port = await findFreePort();
      try {
        await this.accept();
        return this;
      } catch (error) {
        // Another process took the port in the meantime.
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EADDRINUSE') throw error;
      }
    }
  }

  /** Accepts connections again. */
  async accept() {
    if (this.#server.listening) return;
    this.#server.listen({ host: HOST, port: this.port });
    await once(this.#server, 'listening');
  }

  /** Refuses new connections; existing ones go on. */
  refuse() {
    this.#server.close();
  }
}
