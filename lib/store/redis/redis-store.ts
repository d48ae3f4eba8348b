import { randomBytes } from 'node:crypto';
import { readingClock, type ReadingClock } from '../../common/reading-timer.js';
import type { LockLogger } from '../../common/logger.js';
import { LockStoreError } from '../../errors/index.js';
import { redisKeys, tagged } from '../../keys/index.js';
import type { ClientRecordStore } from '../client-records.js';
import type { LatchStore } from '../latch-store.js';
import {
  chooser,
  type LockStore,
  type HoldSurvey,
  type HoldSurveyRequest,
  type ListReply,
  type ListRequest,
  type AcquireAllReply,
  type AcquireReply,
  type AcquireRequest,
  type ForceReleaseReply,
  type HoldName,
  type OfferReply,
  type OfferRequest,
  type ReleaseReply,
  type ReleaseRequest,
  type ReplicateRequest,
  type StoredHold,
  type StoredLock,
  type StoredWaiter,
  type HoldChoice,
} from '../lock-store.js';
import type { PermitStore } from '../permit-store.js';
import type {
  FenceReply,
  FenceRequest,
  QuorumMember,
  ReinstateReply,
  ReinstateRequest,
  ServerIdentity,
} from '../quorum-member.js';
import type { ConnectOptions } from './connect.js';
import { ConnectedStore } from './connected-store.js';
import type { ConnectionObserver } from './connection.js';
import { listKeys, readTime } from './key-scan.js';
import { leaseRenewals } from './lease-renewals.js';
import { redisClientRecords } from './redis-client-records.js';
import { MEMORY, redisLatches } from './redis-latches.js';
import {
  passMessage,
  presence,
  readAcquireAllReply,
  readAcquireReply,
  readCountAndPlace,
  readFenceReply,
  readForceReleaseReply,
  readHandOverReply,
  readInspectReply,
  readNextReply,
  readReleaseReply,
  readSurveyReply,
  requestArgs,
  writeBy,
  writeMode,
  type AcquireAnswer,
} from './replies.js';
import { integer, matching, natural, oneOf, tuple } from './reply-readers.js';
import { RedisConnection, type Connection } from './redis-connection.js';
import { LockNaming, namedKeys, namesOf, type LockKeys, type ScriptArg } from './script-call.js';
import type { ScriptName } from './scripts.generated.js';
import { readServerIdentity } from './server-identity.js';
import { refusesSeveralSlots } from './store-failure.js';
import { weigh } from './subscription.js';

/** `inspect` returns at most this many waiters. */
const MAX_WAITERS = 1_000;
/** How many holds one command ends at most, so that it does not block the server. */
const HOLDS_PER_COMMAND = 10;
/** How many waiters one command reads at most. */
const WAITERS_PER_COMMAND = 48;

/** How many locks one command acquires at most, so that it does not block the server. */
const LOCKS_PER_COMMAND = 2_000;

/** The scripts that publish messages. Their first argument is an address. */
const PUBLISHING: ReadonlySet<ScriptName> = new Set<ScriptName>([
  'handOver',
  'release',
  'forceRelease',
  'setLimit',
  'addLimit',
  'keepUnits',
]);

export interface RedisStoreOptions extends Omit<ConnectOptions, 'clientId' | 'isSharded' | 'required'> {
  /** If left out, the store makes a new id. The stores of several masters share one id. */
  readonly clientId?: string;
}

/** The way to the server. Simulations bring their own. */
export interface RedisStoreParts {
  readonly connect?: (observer: ConnectionObserver) => Connection;
  readonly clock?: ReadingClock;
}

/**
 * The store for one Redis server or a Cluster: sends scripts, and receives messages on the client's channels. A script looks at a
 * part of a long queue only, so further commands may have to continue from there.
 */
export class RedisStore extends ConnectedStore implements QuorumMember {
  readonly clientId: string;
  readonly latches: LatchStore;
  readonly permits: PermitStore = {
    add: async ({ key, id, change, permits }) => {
      const { time } = await this.readLimit(key);
      const args = [id, change, permits, time + MEMORY * this.commandTimeout];
      const [now] = await this.change('addLimit', key, args, readCountAndPlace);
      if (now >= 0) return now;
      const message = `the change of the permits of '${key}' reached Redis too late; it may have been made before`;
      throw new LockStoreError(message, { key, transient: true });
    },
    keepUnits: async ({ key, id, units, keep }) => {
      const [left] = await this.change('keepUnits', key, [id, units, this.rest(keep)], readCountAndPlace);
      return left < 0 ? 'not-held' : left;
    },
  };
  readonly clients: Required<ClientRecordStore>;
  readonly renew: LockStore['renew'];
  private readonly naming: LockNaming;
  private readonly keyPrefix: string;
  private readonly commandTimeout: number;
  private readonly clock: ReadingClock;

  constructor(options: RedisStoreOptions, logger: LockLogger, { connect, clock = readingClock }: RedisStoreParts = {}) {
    const { keyPrefix, commandTimeout, clientId = newClientId() } = options;
    super(connect ?? ((observer) => new RedisConnection({ ...options, clientId }, logger, observer)));
    this.keyPrefix = keyPrefix;
    this.commandTimeout = commandTimeout;
    this.clock = clock;
    this.clientId = clientId;
    this.naming = new LockNaming(keyPrefix, clientId, this.isPartitioned);
    const { connection } = this;
    this.renew = leaseRenewals(connection, (key) => redisKeys(keyPrefix, key).state);
    this.clients = redisClientRecords(connection, keyPrefix, clientId);
    this.latches = redisLatches(connection, this.naming, { keyPrefix, commandTimeout, clientId });
  }

  /** `rank`: where to begin in the queue. `again`: the client has just subscribed for this request, and does so once. */
  acquire(request: AcquireRequest, rank = 0, again = false): Promise<AcquireReply> {
    const { key, id, lease, adopts, waits, patience } = request;
    if (adopts !== undefined) return this.handOver(key, adopts, id, lease);
    const { scripts, subscriptions, masters } = this.connection;
    const keys = this.naming.of(key);
    // A request may join the queue only if the client would receive its grant.
    const subscription = waits ? subscriptions.subscription(keys.channel, patience) : undefined;
    const sent = this.clock.now();
    const args = requestArgs(keys.address, request, rank, presence(subscription, sent));
    return scripts.run('acquire', keys, args, (raw, master) => {
      const answer = readAcquireReply(raw, request);
      weigh(answer, request, sent, subscription, this.clock);
      const { reply, more, sign } = answer;
      // The grant may come from the backlog of a master that was replaced, as a message about it.
      const confirmed = sign === 'found' ? masters?.confirm(namesOf(keys)[0]!, master) : undefined;
      if (confirmed !== undefined)
        return confirmed.then((isMaster) => (isMaster ? reply : this.acquire(request, 0, again)));
      if (more >= 0) return this.goOn(request, answer, again);
      const isUnheard = waits && !again && subscription === undefined && reply.outcome === 'busy';
      return isUnheard ? this.acquireSubscribed(request, reply) : reply;
    });
  }

  /** Continues where a script has stopped. A request that was granted or refused does not go on itself. */
  private async goOn(request: AcquireRequest, { reply, more }: AcquireAnswer, again = false): Promise<AcquireReply> {
    if (reply.outcome === 'queued' || reply.outcome === 'busy') return this.acquire(request, more, again);
    await this.grantRemaining(request.key, more);
    return reply;
  }

  /** In a Cluster, the first request for a key comes before its subscription. */
  private async acquireSubscribed(request: AcquireRequest, reply: AcquireReply): Promise<AcquireReply> {
    const { channel } = this.naming.of(request.key);
    return (await this.subscribe(channel, request)) ? this.acquire(request, 0, true) : reply;
  }

  /** Releases a hold or gives up a place, and sends the next request in the same step. */
  release(request: ReleaseRequest): Promise<ReleaseReply> {
    const { key, next } = request;
    const keys = this.naming.of(key);
    // Without a subscription, the next waiter would get no place, and its client would lose its turn.
    if (next?.waits && this.connection.subscriptions.subscription(keys.channel, next.patience) === undefined)
      return this.subscribe(keys.channel, next).then(() => this.releaseNow(request, keys));
    return this.releaseNow(request, keys);
  }

  private releaseNow({ key, id, tombstoneFor, keep, next }: ReleaseRequest, keys: LockKeys): Promise<ReleaseReply> {
    const what = keep === 0 ? `${tombstoneFor} 0 0` : this.rest(keep, (left) => `${tombstoneFor} ${left} 0`);
    if (next === undefined) {
      return this.connection.scripts.run('release', keys, [keys.address, id, what], (raw) => {
        const [released, more] = readReleaseReply(raw);
        const reply: ReleaseReply = { released, next };
        return more < 0 ? reply : this.grantRemaining(key, more, id).then(() => reply);
      });
    }
    const { waits, patience } = next;
    const subscription = waits ? this.connection.subscriptions.subscription(keys.channel, patience) : undefined;
    const sent = this.clock.now();
    const request = requestArgs(what, next, 0, presence(subscription, sent));
    return this.connection.scripts.run('release', keys, [keys.address, id, ...request], (raw) => {
      const [released, answer] = readNextReply(raw);
      weigh(answer, next, sent, subscription, this.clock);
      if (answer.more < 0) return { released, next: answer.reply };
      return this.goOn(next, answer).then((reply) => ({ released, next: reply }));
    });
  }

  /** Gives a hold another id and a new lease: that of an offer, or of the client that takes it over. */
  private async handOver(key: string, from: string, to: string, lease: number): Promise<AcquireReply> {
    const reply = await this.run('handOver', key, [from, to, lease], readHandOverReply);
    // Each further command looks at more of many holds.
    return reply ?? this.handOver(key, from, to, lease);
  }

  /**
   * Grants to the waiters that a script did not reach, by a release that has nothing to release. `rank`: where to
   * continue; negative if the script has looked at all tickets.
   */
  private async grantRemaining(key: string, rank: number, id = `${this.clientId}:0`): Promise<void> {
    for (let from = rank; from >= 0;) {
      [, from] = await this.run('release', key, [id, `0 0 ${from}`], readReleaseReply);
    }
  }

  async acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllReply | undefined> {
    if (requests.length > LOCKS_PER_COMMAND) return undefined;
    // In a Cluster, a script may use the keys of one slot only.
    if (this.connection.group(requests, (key) => redisKeys(this.keyPrefix, key).state).length > 1) return undefined;
    const keys = namedKeys(
      requests.flatMap(({ key }) => namesOf(this.naming.of(key))),
      requests[0]!.key,
    );
    const args = requests.flatMap((request) => requestArgs('', request).slice(1));
    try {
      return await this.connection.scripts.run('acquireAll', keys, args, (raw) => readAcquireAllReply(raw, requests));
    } catch (error) {
      if (!refusesSeveralSlots(error)) throw error;
      this.connection.separateSlots();
      return undefined;
    }
  }

  async setLimit(key: string, permits: number): Promise<void> {
    const { version } = await this.readLimit(key);
    await this.change('setLimit', key, [permits, version], (raw) => [integer(raw, -1)]);
  }

  /** Which call has set the number of permits, and the server's clock. */
  private readLimit(key: string): Promise<{ readonly version: string; readonly time: number }> {
    return this.run('limit', key, [], (raw) => {
      const [version, time] = tuple(raw, 2);
      return { version: matching(/^\d+$/, version)[0], time: natural(time) };
    });
  }

  replicate(request: ReplicateRequest): Promise<number> {
    return this.connection.replicas.confirm(request, redisKeys(this.keyPrefix, request.key).state, 'confirm');
  }

  async offer({ key, id, offer, lease }: OfferRequest): Promise<OfferReply> {
    const reply = await this.handOver(key, id, offer, lease);
    return reply.outcome === 'held' ? reply.lease : reply.outcome === 'upgrade' ? 'shared' : 'not-held';
  }

  async forceRelease(key: string, hold?: HoldChoice, by?: string): Promise<ForceReleaseReply> {
    const { holds } = await this.inspect(key, 1);
    return this.endHolds(key, holds.filter(chooser(hold)), by);
  }

  async endHolds(key: string, holds: readonly HoldName[], by?: string, memory = 0): Promise<ForceReleaseReply> {
    const { epoch } = this;
    let ended = 0;
    let told = 0;
    let begun = 0;
    // At least once: if the key has no holds, there may still be waiters.
    do {
      const named = holds.slice(begun, (begun += HOLDS_PER_COMMAND));
      const args = [memory, writeBy(by), ...named.flatMap(({ id, since }) => [id, since])];
      const [count, heard] = await this.change('forceRelease', key, args, readForceReleaseReply);
      ended += count;
      told += heard;
    } while (begun < holds.length);
    // A command is sent again if its reply was lost. The second execution finds no holds.
    return { holds: this.epoch === epoch ? ended : holds.length, told };
  }

  fence({ key, id, token, batchSize }: FenceRequest): Promise<FenceReply> {
    return this.run('fence', key, [id, token, batchSize], readFenceReply);
  }

  async reinstate(request: ReinstateRequest): Promise<ReinstateReply> {
    const { key, id, mode, owner, lease, latest, token, batchSize } = request;
    const args = [id, writeMode(mode), owner ?? '', lease, latest ?? 0, token, batchSize];
    const code = await this.run('reinstate', key, args, (raw) => oneOf(raw, -1, 0, 1));
    return code === 1 ? 'held' : code === 0 ? 'missing' : 'left';
  }

  /** @throws LockStoreError if the server does not answer within `commandTimeout` */
  identify(): Promise<ServerIdentity | undefined> {
    const { connection } = this;
    return readServerIdentity(connection.scripts, () => connection.address);
  }

  /** Sends several commands if the lock has many holds or waiters. Stops with the holds once it has `maxHolds`. */
  async inspect(key: string, maxWaiters = MAX_WAITERS, maxHolds = Infinity): Promise<StoredLock> {
    const read = (page: string, place: string, count: number) =>
      this.run('inspect', key, [page, place, count], readInspectReply);
    // A hold or a waiter may be on two pages.
    const holds = new Map<string, StoredHold>();
    const waiters = new Map<string, StoredWaiter>();
    let first: Awaited<ReturnType<typeof read>> | undefined;
    let hasMore = false;
    let left = maxWaiters;
    let [page, place] = ['0', '0'];
    do {
      const part = await read(page, place, Math.min(left, WAITERS_PER_COMMAND));
      first ??= part;
      for (const hold of part.holds) holds.set(hold.id, hold);
      for (const waiter of part.waiters) waiters.set(waiter.id, waiter);
      // The next page begins with the last waiter of this one.
      left -= WAITERS_PER_COMMAND - 1;
      place = left > 1 ? part.nextPlace : '';
      page = holds.size < maxHolds ? part.nextPage : '';
      hasMore ||= page !== part.nextPage;
    } while (page !== '' || place !== '');
    const { lastToken, limit } = first;
    return {
      lastToken,
      limit,
      holds: [...holds.values()],
      waiters: [...waiters.values()],
      ...(hasMore && { hasMore }),
    };
  }

  survey({ key, kind, owner = '' }: HoldSurveyRequest): Promise<HoldSurvey | undefined> {
    return this.run('survey', key, [kind, owner], readSurveyReply);
  }

  list(request: ListRequest): Promise<ListReply> {
    return listKeys(this.connection.scripts, this.connection.nodes(), this.keyPrefix, request);
  }

  time(): Promise<number> {
    return this.connection.scripts.ask(['TIME'], readTime);
  }

  protected nameOf(key: string): string {
    return tagged(key);
  }

  message(text: string, from: string | undefined): void {
    const { listener } = this;
    if (listener === undefined) return;
    // Token 0 makes the ticket ask the store, instead of relying on the message.
    passMessage(text, listener, (grant, node) => listener.granted(node === from ? grant : { ...grant, token: 0 }));
  }

  restored(channels?: ReadonlySet<string>): void {
    this.listener?.restored(channels && ((key) => channels.has(this.naming.of(key).channel!)));
  }

  /** What is left of `ms` when the command is written. After an outage, it is written again. */
  private rest(ms: number, write: (left: number) => string = String): ScriptArg {
    const until = this.clock.now() + ms;
    return () => write(Math.max(0, Math.ceil(until - this.clock.now())));
  }

  /** Runs a script that frees something, and continues with the waiters from the place that is the last number of its reply. */
  private async change<Numbers extends readonly number[]>(
    script: ScriptName,
    key: string,
    args: readonly ScriptArg[],
    read: (reply: unknown) => Numbers,
  ): Promise<Numbers> {
    const numbers = await this.run(script, key, args, read);
    await this.grantRemaining(key, numbers.at(-1)!);
    return numbers;
  }

  /** Runs a script about one lock. */
  private run<Reply>(
    script: ScriptName,
    key: string,
    args: readonly ScriptArg[],
    read: (reply: unknown) => Reply,
  ): Promise<Reply> {
    const keys = this.naming.of(key);
    return this.connection.scripts.run(script, keys, PUBLISHING.has(script) ? [keys.address, ...args] : args, read);
  }
}

/** Returns a new random client id. */
export const newClientId = (): string => randomBytes(16).toString('hex');
