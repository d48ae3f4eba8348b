import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { findFreePort, HOST } from '../../testbed/servers/ports.mjs';
import { deafen, mute } from '../../testbed/proxies/deaf-link.mjs';

/**
 * Stands between one client and one server and makes the network misbehave. It knows bytes, and which connections have
 * subscribed; each fault holds until `heal()`.
 */
export class Proxy {
  #target;
  #server;
  #lines = new Set();
  /** Lines that pass nothing on any more, and do not end. */
  #deaf = new Set();
  /** What happens to what comes: `requests` and `replies` pass, wait or are lost, on the connections that `where` chooses. */
  #fault = {};
  #watched;

  port;

  static async start(target) {
    const proxy = new Proxy();
    proxy.#target = target;
    proxy.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => proxy.#connected(client));
    for (;;) {
      proxy.port = await findFreePort();
      try {
        await proxy.#listen();
        return proxy;
      } catch (error) {
        // Somebody took the port in the meantime.
        if (error.code !== 'EADDRINUSE') throw error;
      }
    }
  }

  get url() {
    return `redis://${HOST}:${this.port}`;
  }

  /** Both ends of the chosen connections see them end. */
  cut(where = everything) {
    for (const line of this.#lines) if (where(line)) line.cut();
  }

  /** The server seems to have said its last word, and still listens. */
  halfClose(where = everything) {
    for (const line of this.#lines) if (where(line)) line.client.end();
  }

  /** No new connections, and none of those that are. */
  refuse() {
    this.#server.close();
    this.cut();
  }

  /** Everything takes `ms` longer, each way. */
  delay(ms) {
    this.#fault = { delay: ms };
  }

  /** What servers answer waits here, and comes late and in order. */
  holdReplies(where = everything) {
    this.#fault = { replies: 'held', where };
  }

  /** Commands are executed, and nobody hears how that went. Lines with a gap are cut when healed, as TCP would. */
  loseReplies(where = everything) {
    this.#fault = { replies: 'lost', where };
  }

  /**
   * The first answer that `which` chooses gets lost, with all that comes behind it on its connection. Resolves when that
   * has happened.
   */
  loseReply(which) {
    return this.#loseFrom('replies', which);
  }

  /** The same of a command. */
  loseRequest(which) {
    return this.#loseFrom('requests', which);
  }

  #loseFrom(direction, which) {
    return new Promise((resolve) => {
      const where = (_line, chunk) => {
        const isFirst = chunk !== undefined && which(chunk);
        if (isFirst) resolve(true);
        return isFirst;
      };
      this.#fault = { [direction]: 'lost', where };
    });
  }

  /** Resolves when a command comes that `which` chooses. */
  untilRequest(which) {
    return new Promise((resolve) => (this.#watched = (chunk) => which(chunk) && resolve()));
  }

  /** Commands do not arrive, and pushes do. */
  loseRequests(where = everything) {
    this.#fault = { requests: 'lost', where };
  }

  /** What either end of the chosen lines sends gets lost for good, and clients hear of no end; the server does if `serverNotices`. */
  goDeaf(where, how) {
    for (const line of this.#lines) {
      if (!where(line)) continue;
      this.#lines.delete(line);
      this.#deaf.add(line);
      line.goDeaf(how);
    }
  }

  /** What clients send on the chosen lines gets lost for good, and what servers send arrives. */
  goMute(where) {
    for (const line of this.#lines) {
      if (!where(line)) continue;
      this.#lines.delete(line);
      this.#deaf.add(line);
      line.goMute();
    }
  }

  async heal() {
    this.#fault = {};
    this.#watched = undefined;
    for (const line of this.#lines) {
      if (line.hasGap) line.cut();
      else line.flush();
    }
    if (!this.#server.listening) await this.#listen();
  }

  async close() {
    this.#server.close();
    this.cut();
    for (const line of this.#deaf) line.cut();
  }

  async #listen() {
    this.#server.listen({ host: HOST, port: this.port });
    await once(this.#server, 'listening');
  }

  #connected(client) {
    const line = new Line(client, connect({ ...this.#target, allowHalfOpen: true, noDelay: true }), () => this.#fault);
    client.on('data', (chunk) => this.#watched?.(chunk));
    this.#lines.add(line);
    line.server.once('close', () => this.#lines.delete(line));
  }
}

const everything = () => true;

/** One connection. */
class Line {
  client;
  server;
  #fault;
  #waiting = [];
  #timer;

  isSubscriber = false;
  /** In which directions something was lost in the middle of a stream: it cannot go on as if nothing had happened. */
  #gaps = new Set();

  constructor(client, server, fault) {
    this.client = client;
    this.server = server;
    this.#fault = fault;
    client.on('data', (chunk) => {
      if (!this.isSubscriber && /subscribe/i.test(chunk.toString('latin1'))) this.isSubscriber = true;
      this.#pass('requests', () => server.write(chunk), chunk);
    });
    server.on('data', (chunk) => this.#pass('replies', () => client.write(chunk), chunk));
    client.on('end', () => server.end());
    server.on('end', () => this.#pass('replies', () => client.end()));
    for (const socket of [client, server]) {
      socket.on('error', () => this.cut());
      socket.on('close', () => this.cut());
    }
  }

  get hasGap() {
    return this.#gaps.size > 0;
  }

  cut() {
    clearTimeout(this.#timer);
    this.#waiting = [];
    this.client.destroy();
    this.server.destroy();
  }

  goDeaf(how) {
    clearTimeout(this.#timer);
    this.#waiting = [];
    deafen(this.client, this.server, how);
  }

  /** Passes on what was held back. */
  flush() {
    for (const entry of this.#waiting) entry.due = 0;
    this.#passDue();
  }

  goMute() {
    clearTimeout(this.#timer);
    this.#waiting = [];
    mute(this.client, this.server);
  }

  #pass(direction, action, chunk) {
    const { delay = 0, where = everything, [direction]: treatment } = this.#fault();
    if (treatment === 'lost' && where(this, chunk)) this.#gaps.add(direction);
    if (this.#gaps.has(direction)) return;
    const isHeld = treatment === 'held' && where(this);
    const due = isHeld ? Infinity : delay === 0 ? 0 : performance.now() + delay;
    this.#waiting.push({ direction, due, action });
    this.#passDue();
  }

  /** In order for each direction: nothing passes what came before it. */
  #passDue() {
    clearTimeout(this.#timer);
    const now = performance.now();
    const blocked = new Set();
    const left = [];
    for (const entry of this.#waiting) {
      if (blocked.has(entry.direction) || entry.due > now) {
        blocked.add(entry.direction);
        left.push(entry);
      } else {
        entry.action();
      }
    }
    this.#waiting = left;
    const next = Math.min(...left.map(({ due }) => due));
    if (next < Infinity) this.#timer = setTimeout(() => this.#passDue(), Math.max(1, Math.ceil(next - now)));
  }
}
