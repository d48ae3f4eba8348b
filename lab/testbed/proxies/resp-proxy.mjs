// @ts-check
import { HOST } from '../servers/ports.mjs';
import { CommandTraps } from './command-traps.mjs';
import { ProxiedConnection } from './proxied-connection.mjs';
import { encodeCommand } from './resp-reader.mjs';
import { TcpListener } from './tcp-listener.mjs';

/**
 * @typedef {import('./proxied-connection.mjs').ProxiedCommand} ProxiedCommand
 * @typedef {import('./proxied-connection.mjs').DeafLink} DeafLink
 * @typedef {import('./proxied-connection.mjs').Faults} Faults
 * @typedef {import('./proxied-connection.mjs').Milliseconds} Milliseconds
 * @typedef {import('./proxied-connection.mjs').RespFrame} RespFrame
 * @typedef {import('./resp-reader.mjs').RespValue} RespValue
 * @typedef {import('./command-traps.mjs').CommandSelector} CommandSelector
 * @typedef {import('./command-traps.mjs').Fault} Fault
 *
 * @typedef {(connection: ProxiedConnection) => boolean} ConnectionFilter Chooses connections, such as the subscribers of a
 *   channel: `({ isSubscriber }) => isSubscriber`
 *
 * @typedef {object} ProxyOptions
 * @property {boolean} [remembers] whether `commands` keeps all commands; default `true`. Not for long runs
 * @property {(command: ProxiedCommand) => readonly string[] | undefined} [rewrite] the words that the server gets in
 *   place of a command; `undefined`: the command itself
 */

const NONE = () => false;
/** @type {ConnectionFilter} */
const ALL = () => true;

/** @returns {Faults} */
const noFaults = () => ({
  delay: { request: 0, reply: 0 },
  lost: { requests: NONE, replies: NONE },
  held: { requests: NONE, replies: NONE },
  isPushLost: NONE,
});

/**
 * Stands between clients and a Redis server, understands their protocol (RESP2 and RESP3) and makes the network
 * misbehave. Every fault holds from the moment it is called; `heal()` ends the lasting ones.
 */
export class RespProxy extends TcpListener {
  /**
   * All commands so far, in the order in which they arrived.
   * @type {ProxiedCommand[]}
   */
  commands = [];
  /** @type {Set<ProxiedConnection>} */
  #connections = new Set();
  /** @type {Set<(command: ProxiedCommand) => void>} */
  #listeners = new Set();
  #traps = new CommandTraps();
  #connectionCount = 0;
  /** @type {import('./proxied-connection.mjs').Rules} */
  #rules;
  #target;

  /**
   * @param {{ readonly port: number }} target on this machine
   * @param {ProxyOptions} [options]
   */
  constructor({ port }, { remembers = true, rewrite } = {}) {
    super((client) => {
      this.#connections.add(new ProxiedConnection(++this.#connectionCount, client, this.#target, this.#rules));
    });
    this.#target = { host: HOST, port };
    this.#rules = {
      faults: noFaults(),
      requested: (command) => {
        if (remembers) this.commands.push(command);
        for (const listener of this.#listeners) listener(command);
        return this.#traps.requested(command);
      },
      replied: (command) => this.#traps.replied(command),
      rewritten: (command, { raw }) => {
        const words = rewrite?.(command);
        return words === undefined ? raw : encodeCommand(words);
      },
      closed: (connection) => void this.#connections.delete(connection),
    };
  }

  /**
   * Starts a proxy before the server on `port` of this machine.
   * @param {{ readonly port: number }} target
   * @param {ProxyOptions} [options]
   */
  static start(target, options) {
    return new RespProxy(target, options).listen();
  }

  get #faults() {
    return this.#rules.faults;
  }

  get openConnections() {
    return [...this.#connections];
  }

  /**
   * Calls `listener` with each command before it is passed on, until the returned function is called.
   * @param {(command: ProxiedCommand) => void} listener
   */
  onCommand(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves to the chosen command when it arrives. @param {CommandSelector} selector */
  seen(selector) {
    return this.#traps.set('see', selector).happened;
  }

  /** Lets the server execute the chosen command, and ends its connection in place of the reply. @param {CommandSelector} selector */
  cutAfterCommand(selector) {
    return this.#traps.set('cut after', selector);
  }

  /** Lets the server execute the chosen command, and ends its connection with a reply that is no RESP. @param {CommandSelector} selector */
  garbleReply(selector) {
    return this.#traps.set('garble', selector);
  }

  /** Ends the connection in place of passing the chosen command on: the server never sees it. @param {CommandSelector} selector */
  cutBeforeCommand(selector) {
    return this.#traps.set('cut before', selector);
  }

  /** Requests are passed on, replies and pushes get lost. Streams with a gap are cut when healed, as TCP would. */
  dropReplies(where = ALL) {
    this.#faults.lost.replies = where;
  }

  /** Requests get lost, pushes are passed on. Streams with a gap are cut when healed. */
  dropRequests(where = ALL) {
    this.#faults.lost.requests = where;
  }

  /**
   * The first reply that `which` chooses gets lost, with everything behind it on its connection. Resolves when that has
   * happened.
   * @param {(reply: RespFrame) => boolean} which
   */
  dropRepliesFrom(which) {
    return this.#dropFrom('replies', which);
  }

  /** The same of commands. @param {(command: ProxiedCommand) => boolean} which */
  dropRequestsFrom(which) {
    return this.#dropFrom('requests', which);
  }

  /** Replies and pushes wait here and arrive, late and in order, when healed. */
  holdReplies(where = ALL) {
    this.#faults.held.replies = where;
  }

  /** Requests wait here and are executed, late and in order, when healed. */
  holdRequests(where = ALL) {
    this.#faults.held.requests = where;
  }

  /** Pushes that fulfil the condition get lost; everything else passes. @param {(push: RespValue) => boolean} where */
  dropPushes(where = () => true) {
    this.#faults.isPushLost = where;
  }

  /**
   * How long everything takes from now on, each way; order is kept.
   * @param {{ request?: Milliseconds, reply?: Milliseconds }} delay
   */
  delay({ request = 0, reply = 0 }) {
    this.#faults.delay = { request, reply };
  }

  /** Ends all faults that lose, hold or delay data, and cuts the connections that have lost some. */
  heal() {
    this.#heal([...this.#connections]);
  }

  /** As `heal`, but nothing brings back connections that went deaf or mute; and accepts connections again. */
  async restore() {
    this.#heal([...this.#connections].filter(({ isSilent }) => !isSilent));
    await this.accept();
  }

  /** @param {readonly ProxiedConnection[]} connections */
  #heal(connections) {
    this.#rules.faults = noFaults();
    for (const connection of connections) {
      if (connection.hasGap) connection.cut();
      else connection.flush();
    }
  }

  /** Ends all connections, or the chosen ones; not the ones that went deaf or mute. */
  cutAll(where = ALL) {
    for (const connection of this.#connections) if (where(connection) && !connection.isSilent) connection.cut();
  }

  /** Tells clients that no more data follows; commands that they send are still executed. */
  endReplies(where = ALL) {
    for (const connection of this.#connections) if (where(connection)) connection.endReplies();
  }

  /**
   * Data from either end gets lost until `heal`, and clients see no end; servers do if `serverNotices`.
   * @param {ConnectionFilter} where
   * @param {DeafLink} how
   */
  goDeaf(where, how) {
    for (const connection of this.#connections) if (where(connection)) connection.goDeaf(how);
  }

  /** Data from clients gets lost until `heal`, and data from servers arrives. @param {ConnectionFilter} where */
  goMute(where) {
    for (const connection of this.#connections) if (where(connection)) connection.goMute();
  }

  /** Leads new connections to another server; existing ones stay. @param {{ readonly port: number }} target */
  leadTo({ port }) {
    this.#target = { host: HOST, port };
  }

  /** Refuses new connections, and ends all others, until `restore`. */
  disconnect() {
    this.refuse();
    this.cutAll();
  }

  /** Ends everything. */
  async close() {
    this.heal();
    this.refuse();
    for (const connection of this.openConnections) connection.cut();
    await Promise.all(this.openConnections.map((connection) => connection.closed));
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  /**
   * @template Message
   * @param {'requests' | 'replies'} direction
   * @param {(message: Message) => boolean} which
   * @returns {Promise<void>}
   */
  #dropFrom(direction, which) {
    return new Promise((resolve) => {
      this.#faults.lost[direction] = (_connection, /** @type {Message | undefined} */ message) => {
        const isFirst = message !== undefined && which(message);
        if (isFirst) resolve();
        return isFirst;
      };
    });
  }
}
