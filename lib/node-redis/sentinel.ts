import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { silenceLimit, type OwnClientOptions } from '../store/redis/connection-options.js';
import { isSame, type Line, type LineObserver, type Lines, type ServerAddress } from '../store/redis/line.js';
import type { MasterFinder } from '../store/redis/servers.js';
import type { NodeRedisClient, NodeRedisSentinel } from './clients.js';
import { NodeRedisLines } from './lines.js';

const SENTINEL_CLIENT = 'the Sentinel client of the application';

/** How often, in ms, the client is asked for the master. It answers from memory. */
const LOOK = 100;
/** For how many ms an attempt to connect waits for a connection of the application's pool. */
const LEASE = 250;

/**
 * Finds the master through a Sentinel client of the application, once that is connected. The client hides its options,
 * so the library reads those of its connection to the master. It opens lines of its own with them, to the master that
 * the client names, and sends nothing on connections of the application.
 */
export class NodeRedisMaster implements MasterFinder, Lines {
  readonly silence: number;
  master: ServerAddress | undefined;
  moved = (): void => undefined;

  private lines: NodeRedisLines | undefined;
  private executing: Promise<unknown> | undefined;
  private looking: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly sentinel: NodeRedisSentinel,
    private readonly own: OwnClientOptions,
  ) {
    this.silence = silenceLimit(own.commandTimeout);
  }

  /** @throws Error if the client is not connected to a master */
  async find(): Promise<ServerAddress> {
    if (this.look() !== undefined && this.lines === undefined && this.sentinel.isReady) await this.borrow();
    const master = this.look();
    if (master === undefined || this.lines === undefined) {
      const why = this.sentinel.isOpen ? 'is connected to no master' : 'is not connected: call its connect()';
      throw new Error(`${SENTINEL_CLIENT} ${why}`);
    }
    // A listener could not be removed again: with it, node-redis would drop the error listener of the application.
    if (!this.isClosed) this.looking ??= setInterval(() => this.look(), LOOK).unref();
    return master;
  }

  /** `find` has resolved before. */
  open(observer: LineObserver, address?: ServerAddress): Line {
    return this.lines!.open(observer, address);
  }

  /** node-redis asks the Sentinels again when a server refuses a write. It misses announcements while a Sentinel restarts. */
  mistaken(): void {
    let isRefused = false;
    this.execute(async () => {
      if (isRefused) return;
      isRefused = true;
      throw new Error('READONLY: this server is a replica');
    }).catch(() => undefined);
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.looking);
  }

  private look(): ServerAddress | undefined {
    const node = this.sentinel.getMasterNode();
    if (node === undefined) return undefined;
    const before = this.master;
    this.master = { host: node.host, port: node.port };
    if (before !== undefined && !isSame(before, this.master)) this.moved();
    return this.master;
  }

  /** Reads the options of the client's connection to the master. */
  private async borrow(): Promise<void> {
    // node-redis loses a connection of its pool if a command of the application asks for one in the same turn.
    await nextTurn();
    const lent = this.execute(async (client) => void (this.lines ??= new NodeRedisLines(client, this.own)));
    await Promise.race([lent, sleep(LEASE, undefined, { ref: false })]);
    if (this.lines !== undefined) return;
    throw new Error(
      `${SENTINEL_CLIENT} has no free connection, whose options the library reads: ` +
        'release one, or write a larger masterPoolSize',
    );
  }

  /** Calls `fn` when a connection of the application's pool is free, one at a time. */
  private execute(fn: (client: NodeRedisClient) => Promise<void>): Promise<unknown> {
    this.executing ??= this.sentinel._execute(false, fn).finally(() => (this.executing = undefined));
    return this.executing;
  }
}
