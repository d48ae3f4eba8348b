import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { findFreePort, HOST } from '../servers/ports.mjs';
import type { DeafLink } from './deaf-link.mjs';
import { ProxiedConnection, type ProxiedCommand, type Rules } from './proxied-connection.js';
import type { RespFrame, RespValue } from './resp-reader.js';

export type { ProxiedCommand, ProxiedConnection };

/** Chooses commands: the n-th from now on, those that fulfil a condition, or the n-th of those. */
export type CommandSelector =
  | number
  | ((command: ProxiedCommand) => boolean)
  | {
      /** From 1, the default, counted over all connections. */
      nth?: number;
      /** Command names in lower case, such as `['evalsha', 'eval']`. */
      names?: readonly string[];
      where?: (command: ProxiedCommand) => boolean;
    };

/** Chooses connections, such as those that listen to a channel: `({ isSubscriber }) => isSubscriber`. */
export type ConnectionFilter = (connection: ProxiedConnection) => boolean;

/** Something that will happen once. */
export interface Fault {
  /** Resolves to the command that it happened to. */
  readonly happened: Promise<ProxiedCommand>;
  cancel(): void;
}

type Milliseconds = number | (() => number);
type Effect = 'see' | 'cut before' | 'cut within' | 'cut after';

interface Trap {
  effect: Effect;
  matches: (command: ProxiedCommand) => boolean;
  left: number;
  spring: (command: ProxiedCommand) => void;
}

const NOBODY: ConnectionFilter = () => false;
const EVERYBODY: ConnectionFilter = () => true;

/**
 * Stands between clients and a Redis server, knows what they say (RESP2 and RESP3) and makes the network misbehave.
 * Every fault holds from when it is called; `heal()` ends those that last.
 */
export class RespProxy implements AsyncDisposable {
  /** All commands so far, in the order in which they came. */
  readonly commands: ProxiedCommand[] = [];
  private readonly connections = new Set<ProxiedConnection>();
  private readonly listeners = new Set<(command: ProxiedCommand) => void>();
  private readonly traps = new Set<Trap>();
  private readonly sentenced = new Map<ProxiedCommand, Trap>();
  private readonly server: Server;
  private connectionCount = 0;
  private requestDelay: Milliseconds = 0;
  private replyDelay: Milliseconds = 0;
  private lost = { requests: NOBODY, replies: NOBODY };
  private held = { requests: NOBODY, replies: NOBODY };
  private copiesOfPush: (push: RespValue) => number = () => 1;

  private constructor(
    private target: { host: string; port: number },
    readonly port: number,
  ) {
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.connected(client));
  }

  /** Starts a proxy before the server on `port` of this machine. */
  static async start({ port }: { readonly port: number }): Promise<RespProxy> {
    for (;;) {
      const proxy = new RespProxy({ host: HOST, port }, await findFreePort());
      try {
        await proxy.accept();
        return proxy;
      } catch (error) {
        // Somebody took the port in the meantime.
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      }
    }
  }

  get host(): string {
    return HOST;
  }

  get url(): string {
    return `redis://${HOST}:${this.port}`;
  }

  get openConnections(): ProxiedConnection[] {
    return [...this.connections];
  }

  /** Calls `listener` with each command before it is passed on, until the returned function is called. */
  onCommand(listener: (command: ProxiedCommand) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Resolves to the chosen command when it comes. */
  seen(selector: CommandSelector): Promise<ProxiedCommand> {
    return this.setTrap('see', selector).happened;
  }

  /** Lets the server execute the chosen command, and ends its connection in place of the reply. */
  cutAfterCommand(selector: CommandSelector): Fault {
    return this.setTrap('cut after', selector);
  }

  /** Lets the server execute the chosen command, and ends its connection in the middle of the reply. */
  cutWithinReply(selector: CommandSelector): Fault {
    return this.setTrap('cut within', selector);
  }

  /** Ends the connection in place of passing the chosen command on: the server never sees it. */
  cutBeforeCommand(selector: CommandSelector): Fault {
    return this.setTrap('cut before', selector);
  }

  /** Requests are passed on, replies and pushes get lost. Streams with a gap are cut when healed, as TCP would. */
  dropReplies(where = EVERYBODY): void {
    this.lost.replies = where;
  }

  /** Requests get lost, pushes are passed on. Streams with a gap are cut when healed. */
  dropRequests(where = EVERYBODY): void {
    this.lost.requests = where;
  }

  /** Replies and pushes wait here and arrive, late and in order, when healed. */
  holdReplies(where = EVERYBODY): void {
    this.held.replies = where;
  }

  /** Requests wait here and are executed, late and in order, when healed. */
  holdRequests(where = EVERYBODY): void {
    this.held.requests = where;
  }

  /** Pushes that fulfil the condition get lost; all else goes on. */
  dropPushes(where: (push: RespValue) => boolean = () => true): void {
    this.copiesOfPush = (push) => (where(push) ? 0 : 1);
  }

  /** Pushes that fulfil the condition arrive twice. */
  repeatPushes(where: (push: RespValue) => boolean = () => true): void {
    this.copiesOfPush = (push) => (where(push) ? 2 : 1);
  }

  /** Milliseconds that everything takes from now on, each way; order is kept. */
  delay({ request = 0, reply = 0 }: { request?: Milliseconds; reply?: Milliseconds }): void {
    this.requestDelay = request;
    this.replyDelay = reply;
  }

  /** Ends what loses, holds, repeats and delays, and cuts the connections that have lost something. */
  heal(): void {
    this.lost = { requests: NOBODY, replies: NOBODY };
    this.held = { requests: NOBODY, replies: NOBODY };
    this.copiesOfPush = () => 1;
    this.delay({});
    for (const connection of this.connections) {
      if (connection.hasGap) connection.cut();
      else connection.flush();
    }
  }

  /** Ends all connections, or the chosen ones. */
  cutAll(where = EVERYBODY): void {
    for (const connection of this.connections) if (where(connection)) connection.cut();
  }

  /** Tells clients that nothing more will come; what they send is still executed. */
  endReplies(where = EVERYBODY): void {
    for (const connection of this.connections) if (where(connection)) connection.endReplies();
  }

  /** What either end sends gets lost until healed, and clients hear of no end; servers do if `serverNotices`. */
  goDeaf(where: ConnectionFilter, how: DeafLink): void {
    for (const connection of this.connections) if (where(connection)) connection.goDeaf(how);
  }

  /** Leads new connections to another server; those that exist stay where they are. */
  leadTo({ port }: { readonly port: number }): void {
    this.target = { host: HOST, port };
  }

  /** Refuses new connections; those that exist go on. */
  refuse(): void {
    this.server.close();
  }

  /** Accepts connections again. */
  async accept(): Promise<void> {
    if (this.server.listening) return;
    this.server.listen({ host: HOST, port: this.port });
    await once(this.server, 'listening');
  }

  /** Ends everything. */
  async close(): Promise<void> {
    this.heal();
    this.refuse();
    this.cutAll();
    await Promise.all([...this.connections].map((connection) => connection.closed));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private connected(client: Socket): void {
    this.connections.add(new ProxiedConnection(++this.connectionCount, client, this.target, this.rules));
  }

  private readonly rules: Rules = {
    requestDelay: () => valueOf(this.requestDelay),
    replyDelay: () => valueOf(this.replyDelay),
    areRequestsHeld: (connection) => this.held.requests(connection),
    areRepliesHeld: (connection) => this.held.replies(connection),
    areRequestsLost: (connection) => this.lost.requests(connection),
    areRepliesLost: (connection) => this.lost.replies(connection),
    requested: (command) => this.requested(command),
    replied: (command) => this.replied(command),
    copiesOfPush: ({ value }: RespFrame) => this.copiesOfPush(value),
    closed: (connection) => this.connections.delete(connection),
  };

  private requested(command: ProxiedCommand): 'pass' | 'cut' {
    this.commands.push(command);
    for (const listener of this.listeners) listener(command);
    let decision: 'pass' | 'cut' = 'pass';
    for (const trap of this.traps) {
      if (!trap.matches(command) || --trap.left > 0) continue;
      this.traps.delete(trap);
      if (trap.effect === 'cut after' || trap.effect === 'cut within') this.sentenced.set(command, trap);
      else trap.spring(command);
      if (trap.effect === 'cut before') decision = 'cut';
    }
    return decision;
  }

  private replied(command: ProxiedCommand): 'pass' | 'cut' | 'cut within' {
    const trap = this.sentenced.get(command);
    if (trap === undefined) return 'pass';
    this.sentenced.delete(command);
    trap.spring(command);
    return trap.effect === 'cut within' ? 'cut within' : 'cut';
  }

  private setTrap(effect: Effect, selector: CommandSelector): Fault {
    const { nth, matches } = asCondition(selector);
    let trap: Trap | undefined;
    const happened = new Promise<ProxiedCommand>((resolve) => {
      trap = { effect, matches, left: nth, spring: resolve };
      this.traps.add(trap);
    });
    return {
      happened,
      cancel: () => {
        if (trap) this.traps.delete(trap);
      },
    };
  }
}

const valueOf = (milliseconds: Milliseconds): number =>
  typeof milliseconds === 'function' ? milliseconds() : milliseconds;

function asCondition(selector: CommandSelector): { nth: number; matches: (command: ProxiedCommand) => boolean } {
  if (typeof selector === 'number') return { nth: selector, matches: () => true };
  if (typeof selector === 'function') return { nth: 1, matches: selector };
  const { nth = 1, names, where = () => true } = selector;
  return { nth, matches: (command) => (names?.includes(command.name) ?? true) && where(command) };
}
