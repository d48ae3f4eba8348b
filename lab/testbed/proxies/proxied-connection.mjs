// @ts-check
import { connect } from 'node:net';
import { DelayedLine } from './delayed-line.mjs';
import { Conversation } from './resp-conversation.mjs';
import { RespReader } from './resp-reader.mjs';

/**
 * @typedef {import('node:net').Socket} Socket
 * @typedef {import('./resp-reader.mjs').RespFrame} RespFrame
 * @typedef {import('./resp-reader.mjs').RespValue} RespValue
 *
 * @typedef {object} Sent
 * @property {number} connection the connection's number, from 1
 * @property {number} at when the proxy saw it, by `performance.now()`
 *
 * @typedef {Readonly<import('./resp-conversation.mjs').RespCommand & Sent>} ProxiedCommand A command that went through the proxy
 *
 * @typedef {object} DeafLink
 * @property {boolean} serverNotices whether the server sees the connection end; if not, it continues to send
 */

/**
 * @typedef {number | (() => number)} Milliseconds
 *
 * @typedef {object} Faults What happens to the data of all connections at present
 * @property {{ request: Milliseconds, reply: Milliseconds }} delay
 * @property {Record<'requests' | 'replies', (connection: ProxiedConnection, message?: any) => boolean>} lost also asked about
 *   each command and each reply
 * @property {Record<'requests' | 'replies', (connection: ProxiedConnection) => boolean>} held
 * @property {(push: RespValue) => boolean} isPushLost
 *
 * @typedef {object} Rules The hooks of a connection for the data that it is about to pass on
 * @property {Faults} faults
 * @property {(command: ProxiedCommand) => 'pass' | 'cut'} requested `cut`: the connection ends in place of the command
 * @property {(command: ProxiedCommand) => 'pass' | import('./command-traps.mjs').Effect} replied `cut after`: the connection
 *   ends in place of the reply; `garble`: with bytes in its place that are no RESP
 * @property {(command: ProxiedCommand, frame: RespFrame) => Buffer} rewritten the bytes that the server gets in place
 * of the command
 * @property {(connection: ProxiedConnection) => void} closed
 */

/** What an intermediary may write in place of a reply. */
const GARBLED = 'HTTP/1.1 502 Bad Gateway\r\n\r\n';

/** One client's connection through the proxy. */
export class ProxiedConnection {
  #client;
  #server;
  #rules;
  /** @type {Conversation<ProxiedCommand>} */
  #conversation = new Conversation();
  #requests;
  #replies;
  #isEnded = false;
  /** The directions in which data was lost in the middle of a stream: it cannot go on as if nothing had happened. */
  #gaps = { requests: false, replies: false };
  #resolveClosed = () => {};
  /**
   * Resolves when both sides are closed.
   * @type {Promise<void>}
   */
  closed = new Promise((resolve) => (this.#resolveClosed = resolve));

  /**
   * @param {number} id
   * @param {Socket} client
   * @param {{ host: string, port: number }} target
   * @param {Rules} rules
   */
  constructor(id, client, target, rules) {
    this.id = id;
    this.#client = client;
    this.#rules = rules;
    this.#server = connect({ ...target, allowHalfOpen: true, noDelay: true });
    this.#requests = new DelayedLine(
      () => valueOf(rules.faults.delay.request),
      () => rules.faults.held.requests(this),
    );
    this.#replies = new DelayedLine(
      () => valueOf(rules.faults.delay.reply),
      () => rules.faults.held.replies(this),
    );
    this.#listen();
  }

  /** Whether the client listens to a channel on this connection. */
  get isSubscriber() {
    return this.#conversation.isSubscriber;
  }

  get channels() {
    return this.#conversation.channels;
  }

  /** Whether the connection has gone deaf or mute. */
  isSilent = false;

  get hasGap() {
    return this.#gaps.requests || this.#gaps.replies;
  }

  #listen() {
    const requestReader = new RespReader('client');
    const replyReader = new RespReader('server');
    this.#client.on('data', (chunk) => {
      for (const frame of requestReader.push(chunk)) this.#request(frame);
    });
    this.#server.on('data', (chunk) => {
      for (const frame of replyReader.push(chunk)) this.#reply(frame);
    });
    this.#client.on('end', () => this.#passRequest(() => this.#server.end()));
    this.#server.on('end', () => this.#passReply(() => this.#client.end()));
    // An error is followed by a close; data that was under way to the other side still arrives there before it.
    this.#client.on('error', () => this.#passRequest(() => this.cut()));
    this.#server.on('error', () => this.#passReply(() => this.cut()));
    this.#listenForClose();
  }

  #listenForClose() {
    const closed = () => {
      if (!this.#client.destroyed || !this.#server.destroyed) return;
      this.#requests.clear();
      this.#replies.clear();
      this.#rules.closed(this);
      this.#resolveClosed();
    };
    this.#client.on('close', closed);
    this.#server.on('close', closed);
  }

  /** @param {RespFrame} frame */
  #request(frame) {
    if (this.#isEnded) return;
    const words = Array.isArray(frame.value) ? frame.value.map(String) : [];
    const [name, ...args] = words;
    // Redis skips empty commands without a reply.
    if (name === undefined) return this.#passRequest(() => this.#server.write(frame.raw));
    const command = { name: name.toLowerCase(), args, connection: this.id, at: performance.now() };
    const decision = this.#rules.requested(command);
    if (this.#areRequestsLost(command)) return;
    if (decision === 'cut') {
      this.#isEnded = true;
      this.#requests.push(() => this.cut());
    } else {
      this.#conversation.asked(command);
      this.#requests.push(() => this.#server.write(this.#rules.rewritten(command, frame)));
    }
  }

  /** @param {RespFrame} frame */
  #reply(frame) {
    if (this.#isEnded) return;
    const command = this.#conversation.answered(frame);
    const decision = command === undefined ? 'pass' : this.#rules.replied(command);
    if (decision !== 'pass') {
      this.#isEnded = true;
      this.#replies.push(() => {
        if (decision === 'garble') this.#client.write(GARBLED);
        this.cut();
      });
      return;
    }
    if (command === undefined && this.#rules.faults.isPushLost(frame.value)) return;
    this.#passReply(() => this.#client.write(frame.raw), frame);
  }

  /** @param {() => void} action */
  #passRequest(action) {
    if (!this.#areRequestsLost()) this.#requests.push(action);
  }

  /** @param {() => void} action @param {RespFrame} [reply] */
  #passReply(action, reply) {
    if (this.#rules.faults.lost.replies(this, reply)) this.#gaps.replies = true;
    if (!this.#gaps.replies) this.#replies.push(action);
  }

  /** @param {ProxiedCommand} [command] */
  #areRequestsLost(command) {
    if (this.#rules.faults.lost.requests(this, command)) this.#gaps.requests = true;
    return this.#gaps.requests;
  }

  /** Passes on the data that was held back. */
  flush() {
    this.#requests.flush();
    this.#replies.flush();
  }

  /** Tells the client that no more data follows; commands that it has sent or still sends are executed. */
  endReplies() {
    this.#replies.push(() => this.#client.end());
  }

  /**
   * Passes nothing on any more, either way, and ends nothing, as where a NAT, a load balancer or a sidecar has forgotten
   * the connection.
   * @param {DeafLink} how
   */
  goDeaf({ serverNotices }) {
    this.#goSilent();
    if (serverNotices) this.#server.destroy();
  }

  /** Passes on no more data from the client. Data from the server arrives, except that it ends. */
  goMute() {
    this.#goSilent();
    this.#server.on('data', (chunk) => this.#client.write(chunk));
  }

  #goSilent() {
    this.#isEnded = true;
    this.isSilent = true;
    this.#gaps = { requests: true, replies: true };
    this.#requests.clear();
    this.#replies.clear();
    for (const socket of [this.#client, this.#server]) {
      for (const event of ['data', 'end', 'error', 'close']) socket.removeAllListeners(event);
      socket.on('error', () => undefined);
      // Incoming data is read, and dropped: no window fills up.
      socket.resume();
    }
    this.#listenForClose();
  }

  /** Ends the connection on both sides; data that has been passed on still arrives, data that is under way does not. */
  cut() {
    this.#isEnded = true;
    this.#requests.clear();
    this.#replies.clear();
    this.#client.destroySoon();
    this.#server.destroySoon();
  }
}

/** @param {Milliseconds} milliseconds */
const valueOf = (milliseconds) => (typeof milliseconds === 'function' ? milliseconds() : milliseconds);
