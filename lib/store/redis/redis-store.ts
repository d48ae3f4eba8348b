import { randomBytes } from 'node:crypto';
import type { Redis, RedisOptions } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { LockStoreError } from '../../errors/index.js';
import { clientChannel, redisKeys } from '../../keys/index.js';
import type {
  AcquireReply,
  AcquireRequest,
  ForceReleaseReply,
  HeldReply,
  LockStoreListener,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
  ReplicateRequest,
  StoredLock,
} from '../lock-store.js';
import type { FenceReply, FenceRequest, QuorumMember, ServerIdentity } from '../quorum-member.js';
import { RedisConnection, type ConnectionObserver } from './redis-connection.js';
import { RedisLatches } from './redis-latches.js';
import {
  readAcquireAllReply,
  readAcquireReply,
  readMessage,
  readMode,
  readReleaseReply,
  writeMode,
} from './replies.js';
import { ScriptRunner } from './script-runner.js';
import { ReplicaAcknowledgement } from './replica-acknowledgement.js';
import { readServerIdentity } from './server-identity.js';
import { storeFailure } from './store-failure.js';

/** How many leases one command renews: enough to be few commands, few enough not to hold up the server. */
const RENEWALS_PER_COMMAND = 100;
/** How many waiters `inspect` tells at most. */
const MOST_WAITERS = 1_000;

export interface RedisStoreOptions {
  readonly connection: string | RedisOptions | Redis;
  readonly keyPrefix: string;
  /** ms */
  readonly commandTimeout: number;
  /** Left out: one of its own. The stores of several masters share theirs. */
  readonly clientId?: string;
}

/** Locks on one Redis server: scripts one way, messages on the client's channel the other. */
export class RedisStore implements QuorumMember, ConnectionObserver {
  readonly clientId: string;
  readonly keepsPermits = true;
  readonly latches: RedisLatches;
  private readonly connection: RedisConnection;
  private readonly scripts: ScriptRunner;
  private readonly replicas: ReplicaAcknowledgement;
  private readonly channels: string;
  private listener: LockStoreListener | undefined;
  private started: (() => void) | undefined;

  constructor(
    private readonly options: RedisStoreOptions,
    logger: LockLogger,
  ) {
    this.clientId = options.clientId ?? newClientId();
    this.channels = clientChannel(options.keyPrefix, '');
    this.connection = new RedisConnection(
      options.connection,
      options.commandTimeout,
      clientChannel(options.keyPrefix, this.clientId),
      logger,
      this,
    );
    this.scripts = new ScriptRunner(this.connection.commands, options.commandTimeout, () => this.connection.trouble);
    this.latches = new RedisLatches(this.scripts, this.clientId, options);
    this.replicas = new ReplicaAcknowledgement(() => this.connection.replication, options.commandTimeout);
  }

  get listening(): boolean {
    return this.connection.listening;
  }

  get epoch(): number {
    return this.connection.epoch;
  }

  get unreachable(): LockStoreError | undefined {
    const { downFor, trouble: cause } = this.connection;
    if (downFor < this.options.commandTimeout) return undefined;
    const why = cause === undefined ? '' : `: ${cause.message}`;
    return new LockStoreError(`Redis has been out of reach for ${Math.round(downFor)} ms${why}`, {
      cause,
      transient: true,
    });
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  /** @throws LockStoreError when that takes longer than `commandTimeout`; connecting goes on all the same */
  start(): Promise<void> {
    const { commandTimeout } = this.options;
    if (this.listening) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.started = undefined;
        const cause = this.connection.deafness;
        const why = cause === undefined ? '' : `: ${cause.message}`;
        reject(new LockStoreError(`Redis could not be reached within ${commandTimeout} ms${why}`, { cause }));
      }, commandTimeout);
      this.started = () => {
        clearTimeout(timer);
        resolve();
      };
      this.connection.open();
    });
  }

  async close(): Promise<void> {
    this.connection.close();
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.ask(request, 0);
  }

  release({ key, id, remember, keep, next }: ReleaseRequest): Promise<ReleaseReply> {
    const what = [id, `${remember} ${keep} 0`];
    const args = next === undefined ? what : [...what, ...requestArgs(next)];
    return this.run('release', key, args).then((raw) => {
      const { reply, more, asked } = readReleaseReply(raw);
      if (more !== undefined) return this.settle(key, id, more).then(() => reply);
      if (next === undefined || asked?.more === undefined) return reply;
      return this.ask(next, asked.more).then((answer) => ({ ...reply, next: answer }));
    });
  }

  async acquireAll(requests: readonly AcquireRequest[]): Promise<readonly HeldReply[] | undefined> {
    const keys = requests.flatMap(({ key }) => this.keysOf(key));
    return readAcquireAllReply(
      (await this.scripts.run(
        'acquireAll',
        keys,
        requests.flatMap((request) => requestArgs(request)),
      )) as unknown[],
    );
  }

  async setLimit(key: string, permits: number): Promise<void> {
    for (let from = 0; from >= 0;) from = Number(await this.run('setLimit', key, [from, permits]));
  }

  replicate({ key, id, min, timeout }: ReplicateRequest): Promise<number> {
    return this.replicas.confirm(redisKeys(this.options.keyPrefix, key).state, id, min, timeout);
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    const commands: Array<Promise<RenewReply[]>> = [];
    for (let i = 0; i < requests.length; i += RENEWALS_PER_COMMAND) {
      commands.push(this.renewSome(requests.slice(i, i + RENEWALS_PER_COMMAND)));
    }
    return (await Promise.all(commands)).flat();
  }

  async extend({ key, id, lease }: RenewRequest): Promise<RenewReply> {
    return leaseLeft(await this.run('extend', key, [id, lease]));
  }

  async forceRelease(key: string): Promise<ForceReleaseReply> {
    const [holds, told, more] = (await this.run('forceRelease', key, [])) as [number, number, number];
    if (Number(more) >= 0) await this.settle(key, `${this.clientId}:0`, Number(more));
    return { holds: Number(holds), told: Number(told) };
  }

  async fence({ key, id, token, turns }: FenceRequest): Promise<FenceReply> {
    const reply = (await this.scripts.run('fence', this.keysOf(key), [id, token, turns])) as number[];
    const [code, lease = 0, lastToken = 0] = reply.map(Number);
    if (code === -1) return { outcome: 'gone' };
    return code === 1 ? { outcome: 'written', lease } : { outcome: 'refused', lease, lastToken };
  }

  /** @throws LockStoreError when the server does not answer within `commandTimeout` */
  identify(): Promise<ServerIdentity | undefined> {
    return readServerIdentity(this.connection.commands, this.options.commandTimeout);
  }

  async inspect(key: string): Promise<StoredLock> {
    const reply = await this.scripts.run('inspect', this.keysOf(key), [MOST_WAITERS]);
    const [lastToken, holds, waiters, limit] = reply as [number, string[][], string[][], number];
    return {
      lastToken: Number(lastToken),
      limit: Number(limit) < 0 ? undefined : Number(limit),
      holds: holds.map(([id, owner, mode, token, ttl, since]) => ({
        id: id as string,
        owner: owner as string,
        ...readMode(mode as string),
        token: Number(token),
        ttl: Number(ttl),
        since: Number(since),
      })),
      waiters: waiters.map(([id, owner, mode]) => ({
        id: id as string,
        owner: owner as string,
        mode: readMode(mode as string).mode,
      })),
    };
  }

  subscribed(): void {
    this.started?.();
    this.started = undefined;
    this.listener?.restored();
  }

  reconnected(): void {
    this.listener?.restored();
  }

  message(text: string): void {
    const message = readMessage(text);
    if (message?.word === 'granted') this.listener?.granted(message.grant);
    else if (message?.word === 'ask') this.listener?.askIn(message.id, message.delay);
    else if (message?.word === 'yield') this.listener?.yield(message.id);
    else if (message?.word === 'revoked') this.listener?.revoked(message.id, message.token);
    else if (message?.word === 'opened') this.listener?.opened(message.key, message.latch);
  }

  /** Asks until all of the queue has been looked at. */
  private ask(request: AcquireRequest, place: number): Promise<AcquireReply> {
    return this.run('acquire', request.key, requestArgs(request, place)).then((raw) => {
      const { reply, more } = readAcquireReply(raw as readonly unknown[]);
      return more === undefined ? reply : this.ask(request, more);
    });
  }

  /** The queue is longer than one script looks at: the rest is seen to by giving back again what has been already. */
  private async settle(key: string, id: string, place: number): Promise<void> {
    for (let from: number | undefined = place; from !== undefined;) {
      from = readReleaseReply(await this.run('release', key, [id, `0 0 ${from}`])).more;
    }
  }

  private async renewSome(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    const states = requests.map(({ key }) => redisKeys(this.options.keyPrefix, key).state);
    try {
      const replies = await this.scripts.run(
        'renew',
        states,
        requests.flatMap(({ id, lease }) => [id, lease]),
      );
      return (replies as unknown[]).map(leaseLeft);
    } catch (error) {
      return requests.map(() => error as Error);
    }
  }

  private run(
    script: 'acquire' | 'release' | 'extend' | 'forceRelease' | 'setLimit',
    key: string,
    args: ReadonlyArray<string | number>,
  ): Promise<unknown> {
    return this.scripts.run(script, this.keysOf(key), [`${this.channels} ${key}`, ...args]);
  }

  /** In the order of lua/shared/keys.lua. */
  private keysOf(key: string): string[] {
    const { state, queue, waiters, fence, gone, limit } = redisKeys(this.options.keyPrefix, key);
    return [state, queue, waiters, fence, gone, limit];
  }
}

/** An id that no other client has. */
export const newClientId = (): string => randomBytes(16).toString('hex');

/** In the order of lua/shared/request.lua. */
function requestArgs(request: AcquireRequest, from = 0): Array<string | number> {
  const { id, mode, owner, lease, turns, fair, waits, period, patience, grantTimeout, age } = request;
  const rest = `${from} ${waits ? 1 : 0} ${period} ${patience} ${grantTimeout} ${age ?? ''}`;
  return [id, writeMode(mode), owner ?? '', lease, fair ? 0 : turns, rest];
}

function leaseLeft(reply: unknown): RenewReply {
  if (reply instanceof Error) return storeFailure(reply);
  return Number(reply) < 0 ? 'gone' : Number(reply);
}
