// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

const HOST = '127.0.0.1';
/** No process accepts the waiting connections, so that the system soon drops further ones. */
const LISTENER = `
const server = require('node:net').createServer();
server.listen({ host: '${HOST}', port: 0, backlog: 1 }, () => {
  process.stdout.write(String(server.address().port), () => process.kill(process.pid, 'SIGSTOP'));
});`;
/** A connection that is not there after so many ms, on this machine, will not be. */
const SILENCE = 250;
const MOST = 16;

/**
 * A port at which connections are neither taken nor refused, as at a machine that is gone: its system drops the packets
 * that ask for one.
 */
export class SilentPort {
  host = HOST;
  /** @type {number} */
  port;
  #child;
  /** @type {import('node:net').Socket[]} */
  #sockets = [];

  /** @param {import('node:child_process').ChildProcess} child @param {number} port */
  constructor(child, port) {
    this.#child = child;
    this.port = port;
  }

  static async start() {
    const child = spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = await once(/** @type {import('node:stream').Readable} */ (child.stdout), 'data');
    const silent = new SilentPort(child, Number(port));
    await silent.#fill();
    return silent;
  }

  /** Fills the places for connections that wait for a listening server. */
  async #fill() {
    for (let i = 0; i < MOST; i++) {
      const socket = connect({ host: this.host, port: this.port });
      socket.on('error', () => undefined);
      this.#sockets.push(socket);
      const isThere = await Promise.race([
        once(socket, 'connect').then(() => true),
        new Promise((resolve) => setTimeout(() => resolve(false), SILENCE)),
      ]);
      if (!isThere) return;
    }
    await this.close();
    throw new Error(`port ${this.port} takes all connections`);
  }

  async close() {
    for (const socket of this.#sockets) socket.destroy();
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }
}
