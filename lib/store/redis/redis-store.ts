import { randomBytes } from 'node:crypto';
import type { LockLogger } from '../../common/logger.js';
import { LockStoreError } from '../../errors/index.js';
import { redisKeys } from '../../keys/index.js';
import type { ListReply, ListRequest } from '../key-list.js';
import type {
  AcquireReply,
  AcquireRequest,
  ForceReleaseReply,
  HeldReply,
  HoldName,
  LockStoreListener,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
  ReplicateRequest,
  StoredLock,
} from '../lock-store.js';
import type {
  FenceReply,
  FenceRequest,
  QuorumMember,
  ReinstateReply,
  ReinstateRequest,
  ServerIdentity,
} from '../quorum-member.js';
import { connect, type ConnectionTarget } from './connect.js';
import type { Connection, ConnectionObserver } from './connection.js';
import { guardCredentials } from './credentials.js';
import { SubscriptionEvidence } from './subscription-evidence.js';
import { KeyScan } from './key-scan.js';
import { leaseLeft, LeaseRenewals } from './lease-renewals.js';
import { RedisLatches } from './redis-latches.js';
import {
  address,
  readAcquireAllReply,
  readAcquireReply,
  readMessage,
  readMode,
  readReleaseReply,
  writeMode,
  type AcquireAnswer,
} from './replies.js';
import { LockKeys, namedKeys } from './script-keys.js';
import { ScriptRunner } from './script-runner.js';
import { readServerIdentity } from './server-identity.js';

/** How many ms somebody who is to wait is kept without an answer until its grant would be heard. */
const LONGEST_HEARING = 250;
/** How many waiters `inspect` tells at most. */
const MOST_WAITERS = 1_000;
/** How many holds one command ends at most, so that it does not keep the server for long. */
const HOLDS_PER_COMMAND = 500;

export interface RedisStoreOptions {
  readonly connection: ConnectionTarget;
  readonly keyPrefix: string;
  /** ms */
  readonly commandTimeout: number;
  /** Left out: one of its own. The stores of several masters share theirs. */
  readonly clientId?: string;
}

/** Locks on one Redis server, or in a Cluster: scripts one way, messages on the client's channels the other. */
export class RedisStore implements QuorumMember, ConnectionObserver {
  readonly clientId: string;
  readonly keepsPermits = true;
  readonly latches: RedisLatches;
  // What knows the password is private to the engine, too: nobody who prints a lock or a service gets to it.
  readonly #options: RedisStoreOptions;
  readonly #connection: Connection;
  readonly #scripts: ScriptRunner;
  readonly #renewals: LeaseRenewals;
  readonly #names: KeyScan;
  private readonly keys: LockKeys;
  private readonly evidence = new SubscriptionEvidence();
  private listener: LockStoreListener | undefined;
  /** Ends a start that is under way, well or with an error. */
  private started: ((error?: LockStoreError) => void) | undefined;

  constructor(options: RedisStoreOptions, logger: LockLogger) {
    this.#options = options;
    guardCredentials(this, options.connection);
    this.clientId = options.clientId ?? newClientId();
    this.#connection = connect({ ...options, clientId: this.clientId }, logger, this);
    this.#scripts = new ScriptRunner(
      this.#connection.commands,
      options.commandTimeout,
      () => this.#connection.commandError,
      () => this.#connection.doubt(),
    );
    this.keys = new LockKeys(options.keyPrefix);
    this.#renewals = new LeaseRenewals(this.#scripts, this.#connection, options.keyPrefix);
    this.#names = new KeyScan(this.#connection.commands, options);
    const { keyPrefix, commandTimeout } = options;
    const channels = (key: string): string => this.#connection.channels(key);
    const { replicas } = this.#connection;
    this.latches = new RedisLatches(this.#scripts, replicas, channels, this.clientId, { keyPrefix, commandTimeout });
  }

  get listening(): boolean {
    return this.#connection.listening;
  }

  get hearsAll(): boolean {
    return this.#connection.hearsAll;
  }

  get epoch(): number {
    return this.#connection.epoch;
  }

  get unreachable(): LockStoreError | undefined {
    const { downFor, commandError: cause } = this.#connection;
    if (downFor < this.#options.commandTimeout) return undefined;
    const why = cause === undefined ? '' : `: ${cause.message}`;
    return new LockStoreError(`Redis has been out of reach for ${Math.round(downFor)} ms${why}`, {
      cause,
      transient: true,
    });
  }

  get outage(): LockStoreError | undefined {
    const cause = this.#connection.commandError;
    return cause && new LockStoreError(`Redis cannot be reached: ${cause.message}`, { cause, transient: true });
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  /** @throws LockStoreError when it is closed, or takes longer than `commandTimeout`; connecting goes on then */
  start(): Promise<void> {
    const { commandTimeout } = this.#options;
    if (this.listening) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const tooLate = (): void => {
        const cause = this.#connection.subscriptionError;
        const why = cause === undefined ? '' : `: ${cause.message}`;
        this.started?.(new LockStoreError(`Redis could not be reached within ${commandTimeout} ms${why}`, { cause }));
      };
      // What has arrived while the process was held up is read first.
      const timer = setTimeout(() => setImmediate(tooLate), commandTimeout);
      this.started = (error) => {
        clearTimeout(timer);
        this.started = undefined;
        if (error === undefined) resolve();
        else reject(error);
      };
      this.#connection.open();
    });
  }

  async close(): Promise<void> {
    this.started?.(new LockStoreError('the locks were closed before Redis was reached'));
    this.#connection.close();
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    const question = this.waitingIfSubscribed(request);
    const asked = this.sendAcquire(question, 0);
    if (question === request) return asked;
    return asked.then(async (reply) => {
      if (reply.outcome !== 'busy') return reply;
      return (await this.subscribe(request)) ? this.sendAcquire(request, 0) : reply;
    });
  }

  release(request: ReleaseRequest): Promise<ReleaseReply> {
    const { next } = request;
    if (next === undefined || this.waitingIfSubscribed(next) === next) return this.sendRelease(request);
    // Or else its client would lose its turn: it has waited for long, and asks only now.
    return this.subscribe(next).then(() => this.sendRelease({ ...request, next: this.waitingIfSubscribed(next) }));
  }

  async acquireAll(requests: readonly AcquireRequest[]): Promise<readonly HeldReply[] | undefined> {
    // One script speaks of one slot.
    if (this.#connection.group(requests).length > 1) return undefined;
    const keys = namedKeys(requests.flatMap(({ key }) => this.keys.of(key).names));
    return readAcquireAllReply(
      (await this.#scripts.runWithAddress(
        'acquireAll',
        keys,
        requests.flatMap((request) => requestArgs(request)),
      )) as unknown[],
    );
  }

  async setLimit(key: string, permits: number): Promise<void> {
    const version = (await this.#scripts.runWithAddress('limit', this.keys.of(key), [])) as string;
    await this.grantRemaining(key, Number(await this.run('setLimit', key, [permits, version])));
  }

  replicate({ key, id, min, timeout }: ReplicateRequest): Promise<number> {
    return this.#connection.replicas.confirm(redisKeys(this.#options.keyPrefix, key).state, id, min, timeout);
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    return this.#renewals.renew(requests);
  }

  async extend({ key, id, lease }: RenewRequest): Promise<RenewReply> {
    return leaseLeft(await this.run('extend', key, [id, lease]));
  }

  async forceRelease(key: string): Promise<ForceReleaseReply> {
    const { holds } = await this.inspect(key);
    return this.endHolds(key, holds);
  }

  async endHolds(key: string, holds: readonly HoldName[], memory = 0): Promise<ForceReleaseReply> {
    const { epoch } = this;
    let ended = 0;
    let told = 0;
    let place = 0;
    // Once at least: where nothing is held somebody may wait all the same.
    do {
      const named = holds.slice(place, (place += HOLDS_PER_COMMAND));
      const args = [memory, ...named.flatMap(({ id, since }) => [id, since])];
      const [count, heard, more] = ((await this.run('forceRelease', key, args)) as number[]).map(Number);
      ended += count!;
      told += heard!;
      await this.grantRemaining(key, more!);
    } while (place < holds.length);
    // A command whose reply was lost is sent again, and finds nothing the second time.
    return { holds: this.epoch === epoch ? ended : holds.length, told };
  }

  async fence({ key, id, token, batchSize }: FenceRequest): Promise<FenceReply> {
    const reply = (await this.#scripts.runWithAddress('fence', this.keys.of(key), [id, token, batchSize])) as number[];
    const [code, lease = 0, lastToken = 0] = reply.map(Number);
    if (code === -1) return { outcome: 'gone' };
    return code === 1 ? { outcome: 'written', lease } : { outcome: 'refused', lease, lastToken };
  }

  async reinstate({
    key,
    id,
    mode,
    owner,
    lease,
    latest,
    token,
    batchSize,
  }: ReinstateRequest): Promise<ReinstateReply> {
    const args = [id, writeMode(mode), owner ?? '', lease, latest ?? 0, token, batchSize];
    const code = Number(await this.#scripts.runWithAddress('reinstate', this.keys.of(key), args));
    return code === 1 ? 'held' : code === 0 ? 'missing' : 'left';
  }

  /** @throws LockStoreError when the server does not answer within `commandTimeout` */
  identify(): Promise<ServerIdentity | undefined> {
    return readServerIdentity(this.#connection.commands, this.#options.commandTimeout);
  }

  async inspect(key: string): Promise<StoredLock> {
    const reply = await this.#scripts.runWithAddress('inspect', this.keys.of(key), [MOST_WAITERS]);
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

  list(request: ListRequest): Promise<ListReply> {
    return this.#names.list(request);
  }

  subscribed(): void {
    this.started?.();
    this.listener?.restored();
  }

  reconnected(): void {
    this.listener?.restored();
  }

  /** No grant with this token is believed, so whoever waits for it asks. */
  unorderedMessage(text: string): void {
    this.message(text, 0);
  }

  message(text: string, token?: number): void {
    const message = readMessage(text);
    if (message?.word === 'granted') {
      this.evidence.heard(message.grant.id);
      this.listener?.granted({ ...message.grant, token: token ?? message.grant.token });
    } else if (message?.word === 'retry') this.listener?.retryAfter(message.id, message.delay);
    else if (message?.word === 'yield') this.listener?.yield(message.id);
    else if (message?.word === 'revoked') this.listener?.revoked(message.id, message.token);
    else if (message?.word === 'opened') this.listener?.opened(message.key, message.latch);
  }

  /** Only whoever would hear of its grant may have a place in the queue. */
  private waitingIfSubscribed(request: AcquireRequest): AcquireRequest {
    const waits = request.waits && this.#connection.isSubscribed(request.key, request.patience);
    return waits === request.waits ? request : { ...request, waits };
  }

  /**
   * The first of a client that waits for a key in a Cluster would not hear of its grant yet. A lease counts from the
   * question, so this may take a part of it only.
   */
  private subscribe({ key, patience, lease }: AcquireRequest): Promise<boolean> {
    return this.#connection.subscribeTo(key, patience, Math.min(LONGEST_HEARING, lease / 4));
  }

  private sendRelease({ key, id, tombstoneFor, keep, next }: ReleaseRequest): Promise<ReleaseReply> {
    const what = [id, `${tombstoneFor} ${keep} 0`];
    const args = next === undefined ? what : [...what, ...requestArgs(next)];
    const weigh = next && this.weighing(next);
    return this.run('release', key, args).then((raw) => {
      const { reply, more, asked } = readReleaseReply(raw);
      if (asked !== undefined) weigh?.(asked);
      if (more !== undefined) return this.grantRemaining(key, more, id).then(() => reply);
      if (next === undefined || asked?.more === undefined) return reply;
      return this.sendAcquire(next, asked.more).then((answer) => ({ ...reply, next: answer }));
    });
  }

  /** Asks until all of the queue has been looked at. */
  private sendAcquire(request: AcquireRequest, place: number): Promise<AcquireReply> {
    const weigh = this.weighing(request);
    return this.run('acquire', request.key, requestArgs(request, place)).then((raw) => {
      const answer = readAcquireReply(raw as readonly unknown[]);
      weigh?.(answer);
      const { reply, more } = answer;
      return more === undefined ? reply : this.sendAcquire(request, more);
    });
  }

  /** Takes down what is known while a question is sent, to be weighed against its answer: whether the client hears. */
  private weighing({ key, id, lease, waits }: AcquireRequest): ((answer: AcquireAnswer) => void) | undefined {
    const subscription = waits ? this.#connection.subscription(key) : undefined;
    if (subscription === undefined) return undefined;
    const sent = performance.now();
    return ({ sign, reply }) => {
      if (sign === undefined) return;
      const leaseLeft = reply.outcome === 'held' ? reply.lease : undefined;
      this.evidence.weigh(sign, { id, lease, sent, subscription }, leaseLeft);
    };
  }

  /**
   * The queue is longer than one script looks at: the rest is seen to by giving back again what has been already, or what
   * nobody has. `place`: where to go on, negative: all has been looked at.
   */
  private async grantRemaining(key: string, place: number, id = `${this.clientId}:0`): Promise<void> {
    for (let from: number | undefined = place; from !== undefined && from >= 0;) {
      from = readReleaseReply(await this.run('release', key, [id, `0 0 ${from}`])).more;
    }
  }

  private run(
    script: 'acquire' | 'release' | 'extend' | 'forceRelease' | 'setLimit',
    key: string,
    args: ReadonlyArray<string | number>,
  ): Promise<unknown> {
    return this.#scripts.runWithAddress(script, this.keys.of(key), [
      address(this.#connection.channels(key), key),
      ...args,
    ]);
  }
}

/** An id that no other client has. */
export const newClientId = (): string => randomBytes(16).toString('hex');

/** In the order of lua/shared/request.lua. */
function requestArgs(request: AcquireRequest, from = 0): Array<string | number> {
  const {
    id,
    mode,
    owner,
    lease,
    batchSize,
    uncontendedBatchSize,
    fair,
    waits,
    period,
    patience,
    grantTimeout,
    age,
    backedOff,
  } = request;
  const rest = `${from} ${waits ? 1 : 0} ${period} ${patience} ${grantTimeout} ${fair ? 0 : batchSize} ${age ?? ''}${backedOff === true ? ' backedOff' : ''}`;
  return [id, writeMode(mode), owner ?? '', lease, fair ? 0 : uncontendedBatchSize, rest];
}
