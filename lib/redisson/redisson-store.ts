import { randomUUID } from 'node:crypto';
import type { LockLogger } from '../common/logger.js';
import { LockConfigError } from '../errors/index.js';
import {
  chooser,
  type AcquireReply,
  type AcquireRequest,
  type ForceReleaseReply,
  type LockStore,
  type OfferReply,
  type ReleaseReply,
  type ReleaseRequest,
  type RenewReply,
  type RenewRequest,
  type StoredLock,
  type HoldChoice,
} from '../store/lock-store.js';
import type { ConnectionTarget } from '../store/redis/connect.js';
import { ConnectedStore } from '../store/redis/connected-store.js';
import { leaseRenewals } from '../store/redis/lease-renewals.js';
import { RedisConnection } from '../store/redis/redis-connection.js';
import { readBy, writeBy } from '../store/redis/replies.js';
import { FAIR_IS_PLAIN, LACKING_FEATURES, readLeaseTooLong } from './lacking-features.js';
import {
  isLatchChannel,
  isPermitsChannel,
  latchOf,
  RedissonNaming,
  type RedissonNameMapper,
  type RedissonNames,
} from './redisson-names.js';
import {
  channelOf,
  contended,
  isPlain,
  readAcquireReply,
  readForceReleaseReply,
  readInspectReply,
  readRenewReply,
} from './replies.js';
import { RedissonLatches } from './redisson-latches.js';
import { RedissonScripts, type ShardedSubscriptionMode } from './redisson-scripts.js';
import { SCRIPTS, type ScriptName } from './scripts.generated.js';
import { WakeList } from './wake-list.js';

const REVOKED = /^revoked (\S+) (\S+)$/;

export interface RedissonStoreOptions {
  readonly connection: ConnectionTarget;
  /** Stands before the channel on which a client learns of forced releases. Redisson has no such channel. */
  readonly keyPrefix: string;
  /** ms */
  readonly commandTimeout: number;
  /** The longest lease of a read lock, in ms: a reader of Redisson may set the leases of all readers to it. */
  readonly renewedLease: number;
  readonly nameMapper: RedissonNameMapper;
  /** Whether locks are `RFencedLock`s, with fencing tokens. */
  readonly fenced: boolean;
  /** How messages are published in a Cluster. If left out: as in Redisson by default. */
  readonly shardedSubscriptionMode?: ShardedSubscriptionMode | undefined;
}

/**
 * The store that keeps locks as Redisson does, so that clients of both exclude and wake each other. The hash of a lock has
 * one field, its owner: the client's UUID and the number of the acquisition, where Redisson has the id of a thread.
 * docs/redisson.md says what is in Redis.
 */
export class RedissonStore extends ConnectedStore implements LockStore {
  readonly clientId: string;
  readonly latches: RedissonLatches;
  readonly lacks: NonNullable<LockStore['lacks']>;
  readonly renew: LockStore['renew'];
  private readonly scripts: RedissonScripts;
  private readonly longestRead: number;
  private readonly fenced: boolean;
  private readonly names: RedissonNaming;
  private readonly waiters = new WakeList((id) => this.listener?.retryAfter(id, 0));

  constructor(options: RedissonStoreOptions, logger: LockLogger) {
    const { connection, keyPrefix, commandTimeout, nameMapper, fenced } = options;
    const clientId = randomUUID();
    const isSharded = (): boolean => this.scripts.isSharded;
    const required = ['TIME'];
    const connect = { connection, keyPrefix, commandTimeout, clientId, isSharded, required };
    super((observer) => new RedisConnection(connect, logger, observer));
    this.clientId = clientId;
    this.fenced = fenced;
    this.lacks = fenced ? { ...LACKING_FEATURES, fair: FAIR_IS_PLAIN } : LACKING_FEATURES;
    this.longestRead = options.renewedLease;
    this.names = new RedissonNaming(nameMapper, keyPrefix, this.isPartitioned);
    this.scripts = new RedissonScripts(
      this.connection.scripts,
      logger,
      this.isPartitioned,
      options.shardedSubscriptionMode,
    );
    this.latches = new RedissonLatches(
      this.scripts,
      this.connection,
      (key) => this.names.latch(key),
      (key, latch) => this.listener?.opened(key, latch),
    );
    const nameOf = (key: string): string => this.nameOf(key);
    const read = (raw: unknown, request: RenewRequest): RenewReply => readRenewReply(raw, request, this.longestRead);
    this.renew = leaseRenewals(this.connection, nameOf, SCRIPTS.renew, [this.longestRead], read);
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { id, adopts } = request;
    if (adopts !== undefined) throw new LockConfigError(LACKING_FEATURES.handover!);
    this.waiters.requesting(id);
    try {
      const reply = await this.acquireOrWait(request);
      if ('retryAfter' in reply) this.waiters.contended(id, reply.holders);
      else this.waiters.leave(id);
      return this.atOnceIfWoken(id, reply);
    } catch (error) {
      this.waiters.contended(id, undefined);
      throw error;
    } finally {
      this.waiters.answered(id);
    }
  }

  async release(request: ReleaseRequest): Promise<ReleaseReply> {
    const { id, next } = request;
    this.waiters.leave(id);
    if (next === undefined) return { released: await this.sendRelease(request), next };
    // The next local waiter tries when the message of this release arrives, as the waiters of other clients do. If it tried along
    // with the release, it would always come first.
    const hears = this.joinIfSubscribed(next, channelOf(this.names.lock(next.key), next));
    this.waiters.requesting(next.id);
    try {
      if (hears) this.waiters.contended(next.id, []);
      const released = await this.sendRelease(request);
      // A request behind its release would bring it back.
      if (this.waiters.isOver(next.id)) return { released, next: { outcome: 'left', time: 0 } };
      if (!released || !hears) return { released, next: await this.acquire(next) };
      return { released, next: this.atOnceIfWoken(next.id, contended('queued', next)) };
    } finally {
      this.waiters.answered(next.id);
    }
  }

  private sendRelease({ key, id, tombstoneFor }: ReleaseRequest): Promise<boolean> {
    const { lock, channels } = this.names.lock(key);
    return this.scripts.release(key, [lock, latchOf(lock, id)], [id, ...channels, tombstoneFor]);
  }

  /** Redisson's `MultiLock` acquires one lock after the other, too. */
  async acquireAll(): Promise<undefined> {
    return undefined;
  }

  replicate(): Promise<number> {
    return Promise.reject(new LockConfigError(LACKING_FEATURES.replicas!));
  }

  offer(): Promise<OfferReply> {
    return Promise.reject(new LockConfigError(LACKING_FEATURES.handover!));
  }

  async forceRelease(key: string, hold?: HoldChoice, by?: string): Promise<ForceReleaseReply> {
    const names = this.names.lock(key);
    const { holds } = await this.inspect(key);
    const named = holds.filter(chooser(hold));
    const args = [...names.channels, writeBy(by), ...named.flatMap(({ id }) => [id, this.names.clientOf(id)])];
    return this.scripts.run(key, 'forceRelease', [names.lock], args, readForceReleaseReply);
  }

  async inspect(key: string): Promise<StoredLock> {
    const names = this.names.lock(key);
    return this.scripts.run(key, 'inspect', [names.lock, names.token], [], (raw) => readInspectReply(raw, this.fenced));
  }

  restored(): void {
    this.listener?.restored();
  }

  protected nameOf(key: string): string {
    return this.names.lock(key).lock;
  }

  message(text: string): void {
    const [, id, by] = REVOKED.exec(text) ?? [];
    if (id !== undefined) this.listener?.revoked(id, undefined, readBy(by!));
  }

  keyMessage(channel: string, message: string): void {
    if (isLatchChannel(channel)) return this.latches.heard(channel, message);
    if (isPermitsChannel(channel)) this.waiters.wakeSome(channel, Number(message));
    else if (message === '0') this.waiters.wakeFirst(channel);
    else this.waiters.wakeAll(channel);
  }

  private async acquireOrWait(request: AcquireRequest): Promise<AcquireReply> {
    const { mode, lease, fair } = request;
    if (fair && !isPlain(mode)) throw new LockConfigError(FAIR_IS_PLAIN, { key: request.key });
    if (mode.kind === 'read' && lease > this.longestRead) {
      throw new LockConfigError(readLeaseTooLong(lease, this.longestRead), { key: request.key });
    }
    const names = this.names.lock(request.key);
    const channel = channelOf(names, request);
    // Before the request is sent: the message may arrive before the reply.
    if (request.waits) this.waiters.join(request, channel);
    const earlier = this.behindEarlier(request, channel);
    if (earlier !== undefined) return earlier;
    const hears = request.waits && this.connection.subscriptions.subscription(channel, request.patience) !== undefined;
    const reply = await this.tryAcquire(request, names, hears);
    if (reply.outcome !== 'busy' || !request.waits || this.waiters.isOver(request.id)) return reply;
    if (hears) return { ...reply, outcome: 'queued' };
    // No later caller passes it while it subscribes.
    this.waiters.contended(request.id, reply.holders);
    await this.scripts.decide(names.lock);
    const isSubscribed = await this.subscribe(channel, request);
    if (!isSubscribed || this.waiters.isOver(request.id)) return reply;
    // The lock may have become free before the subscription.
    const stillEarlier = this.behindEarlier(request, channel);
    if (stillEarlier !== undefined) return stillEarlier;
    const again = await this.tryAcquire(request, names, true);
    return again.outcome === 'busy' ? { ...again, outcome: 'queued' } : again;
  }

  /** The reply to a request that would pass an earlier caller, so it is not sent. A writer that also reads waits for none. */
  private behindEarlier(request: AcquireRequest, channel: string): AcquireReply | undefined {
    const before = request.owner === undefined ? this.waiters.holdersBefore(request, channel) : undefined;
    return before && contended(request.waits ? 'queued' : 'busy', request, -1, before);
  }

  /** `hasWaited`: this acquisition was in the queue of an `RFairLock` before. */
  private tryAcquire(request: AcquireRequest, names: RedissonNames, hasWaited: boolean): Promise<AcquireReply> {
    const { key, id, mode, owner, lease, fair, waits } = request;
    const keys = [names.lock, latchOf(names.lock, id)];
    const send = (name: ScriptName, ...args: ReadonlyArray<string | number>): Promise<AcquireReply> =>
      this.scripts.run(key, name, keys, [id, lease, ...args], (raw) => readAcquireReply(raw, request));
    if (fair) return send('acquireFair', Number(waits), Number(hasWaited));
    if (mode.kind === 'permits') return send('acquirePermits', mode.units, mode.limit, names.channels[2]);
    if (!isPlain(mode)) return send('acquireShared', mode.kind === 'read' ? 'read' : 'write', owner ?? '');
    if (this.fenced) keys.push(names.token);
    return send('acquire');
  }

  /** The message may arrive before the reply that it overtakes, and the reply would set a later retry. */
  private atOnceIfWoken<Reply extends AcquireReply>(id: string, reply: Reply): Reply {
    return 'retryAfter' in reply && this.waiters.isWoken(id) ? { ...reply, retryAfter: 0 } : reply;
  }

  private joinIfSubscribed(request: AcquireRequest, channel: string): boolean {
    if (this.connection.subscriptions.subscription(channel, request.patience) === undefined) return false;
    this.waiters.join(request, channel);
    return true;
  }
}
