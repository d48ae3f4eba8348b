import { randomBytes } from 'node:crypto';
import type { ReadingClock } from '../../common/reading-timer.js';
import type { LockLogger } from '../../common/logger.js';
import type { LockStoreError } from '../../errors/index.js';
import { redisKeys, tagged } from '../../keys/index.js';
import {
  chooser,
  type HoldSurvey,
  type HoldSurveyRequest,
  type ListReply,
  type ListRequest,
  type AcquireAllReply,
  type AcquireReply,
  type AcquireRequest,
  type ForceReleaseReply,
  type HoldName,
  type LockStoreListener,
  type OfferReply,
  type OfferRequest,
  type ReleaseReply,
  type ReleaseRequest,
  type RenewReply,
  type RenewRequest,
  type ReplicateRequest,
  type StoredLock,
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
import { isClusterTarget, type ConnectionTarget } from './connect.js';
import type { ConnectionObserver } from './connection.js';
import { KeyScan, timeOf } from './key-scan.js';
import { LeaseRenewals } from './lease-renewals.js';
import { LockCommands, requestArgs } from './lock-commands.js';
import { RedisClientRecords } from './redis-client-records.js';
import { RedisLatches } from './redis-latches.js';
import { readAcquireAllReply, readFenceReply, readMessage, readSurveyReply, writeBy, writeMode } from './replies.js';
import { oneOf } from './reply-readers.js';
import { LockKeys, namedKeys } from './script-keys.js';
import { readServerIdentity } from './server-identity.js';
import { refusesSeveralSlots } from './store-failure.js';
import { StoreLink } from './store-link.js';

/** The reply to a waiter may be delayed by this many ms, until the client can receive its grant. */
const LONGEST_HEARING = 250;
/** `inspect` returns at most this many waiters. */
const MAX_WAITERS = 1_000;

export interface RedisStoreOptions {
  readonly connection: ConnectionTarget;
  readonly keyPrefix: string;
  /** ms */
  readonly commandTimeout: number;
  /** The name of its connections in `CLIENT LIST`, unless the options of ioredis name them. */
  readonly label?: string | undefined;
  /** If left out, the store makes a new id. The stores of several masters share one id. */
  readonly clientId?: string;
}

/** The way to the server. Simulations bring their own. */
export interface RedisStoreParts {
  readonly link?: (observer: ConnectionObserver) => Pick<StoreLink, keyof StoreLink>;
  readonly clock?: ReadingClock;
}

/** The store for one Redis server or a Cluster: sends scripts, and receives messages on the client's channels. */
export class RedisStore implements QuorumMember, ConnectionObserver {
  readonly clientId: string;
  readonly keepsPermits = true;
  readonly isPartitioned: boolean;
  readonly latches: RedisLatches;
  readonly permits: PermitStore = {
    add: (request) => this.#commands.addPermits(request),
    keepUnits: (request) => this.#commands.keepUnits(request),
  };
  readonly clients: RedisClientRecords;
  // Private, also towards the engine, because it knows the password: printing a lock must not reveal it.
  readonly #link: Pick<StoreLink, keyof StoreLink>;
  readonly #commands: LockCommands;
  readonly #renewals: LeaseRenewals;
  readonly #names: KeyScan;
  private readonly keys: LockKeys;
  private readonly keyPrefix: string;
  private readonly commandTimeout: number;
  private readonly clock: ReadingClock | undefined;
  private listener: LockStoreListener | undefined;

  constructor(options: RedisStoreOptions, logger: LockLogger, { link, clock }: RedisStoreParts = {}) {
    const { keyPrefix, commandTimeout } = options;
    this.keyPrefix = keyPrefix;
    this.commandTimeout = commandTimeout;
    this.clock = clock;
    this.clientId = options.clientId ?? newClientId();
    this.isPartitioned = isClusterTarget(options.connection);
    this.#link = link?.(this) ?? new StoreLink({ ...options, clientId: this.clientId }, logger, this);
    const { connection, scripts } = this.#link;
    this.keys = new LockKeys(keyPrefix);
    this.#commands = new LockCommands(this.clientId, scripts, connection, this.keys, commandTimeout, clock);
    this.#renewals = new LeaseRenewals(scripts, connection, (key) => redisKeys(keyPrefix, key).state);
    this.#names = new KeyScan(() => connection.nodes(), options);
    this.clients = new RedisClientRecords(
      connection.commands,
      keyPrefix,
      this.clientId,
      () => connection.nodes(),
      this.isPartitioned,
    );
    const channels = (key: string): string => connection.channels(key);
    this.latches = new RedisLatches(scripts, connection.replicas, channels, this.clientId, {
      keyPrefix,
      commandTimeout,
    });
  }

  get listening(): boolean {
    return this.#link.connection.listening;
  }

  get fullySubscribed(): boolean {
    return this.#link.connection.fullySubscribed;
  }

  get epoch(): number {
    return this.#link.connection.epoch;
  }

  get unreachable(): LockStoreError | undefined {
    return this.#link.unreachable;
  }

  get outage(): LockStoreError | undefined {
    return this.#link.outage;
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  /** @throws LockStoreError if the store is closed or `commandTimeout` is over; it continues to connect */
  start(): Promise<void> {
    return this.#link.start();
  }

  async close(): Promise<void> {
    this.#link.close();
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { key, id, lease, adopts } = request;
    if (adopts !== undefined) return this.#commands.handOver(key, adopts, id, lease);
    const question = this.waitingIfSubscribed(request);
    const asked = this.#commands.acquire(question);
    if (question === request) return asked;
    return asked.then(async (reply) => {
      if (reply.outcome !== 'busy') return reply;
      if (await this.subscribe(request)) return this.#commands.acquire(request);
      void this.retryOnceSubscribed(request);
      return reply;
    });
  }

  release(request: ReleaseRequest): Promise<ReleaseReply> {
    const { next } = request;
    if (next === undefined || this.waitingIfSubscribed(next) === next) return this.#commands.release(request);
    // Without a subscription, the next waiter would get no place, and its client would lose its turn.
    return this.subscribe(next).then(() =>
      this.#commands.release({ ...request, next: this.waitingIfSubscribed(next) }),
    );
  }

  async acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllReply | undefined> {
    const { connection, scripts } = this.#link;
    // In a Cluster, a script may use the keys of one slot only.
    if (connection.group(requests, (key) => redisKeys(this.keyPrefix, key).state).length > 1) return undefined;
    const keys = namedKeys(
      requests.flatMap(({ key }) => this.keys.of(key).names),
      requests[0]!.key,
    );
    const args = requests.flatMap((request) => requestArgs(request));
    try {
      return await scripts.run('acquireAll', keys, args, (raw) => readAcquireAllReply(raw, requests));
    } catch (error) {
      if (!refusesSeveralSlots(error)) throw error;
      connection.separateSlots();
      return undefined;
    }
  }

  setLimit(key: string, permits: number): Promise<void> {
    return this.#commands.setLimit(key, permits);
  }

  replicate({ key, id, min, timeout }: ReplicateRequest): Promise<number> {
    return this.#link.connection.replicas.confirm(redisKeys(this.keyPrefix, key).state, id, min, timeout);
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    return this.#renewals.renew(requests);
  }

  async offer({ key, id, offer, lease }: OfferRequest): Promise<OfferReply> {
    const reply = await this.#commands.handOver(key, id, offer, lease);
    return reply.outcome === 'held' ? reply.lease : reply.outcome === 'upgrade' ? 'shared' : 'not-held';
  }

  async forceRelease(key: string, hold?: HoldChoice, by?: string): Promise<ForceReleaseReply> {
    const { holds } = await this.inspect(key, 1);
    return this.endHolds(key, holds.filter(chooser(hold)), by);
  }

  async endHolds(key: string, holds: readonly HoldName[], by?: string, memory = 0): Promise<ForceReleaseReply> {
    const { epoch } = this;
    const { ended, told } = await this.#commands.endHolds(key, holds, writeBy(by), memory);
    // ioredis sends a command again if its reply was lost. The second execution finds no holds.
    return { holds: this.epoch === epoch ? ended : holds.length, told };
  }

  fence({ key, id, token, batchSize }: FenceRequest): Promise<FenceReply> {
    return this.#link.scripts.run('fence', this.keys.of(key), [id, token, batchSize], readFenceReply);
  }

  async reinstate(request: ReinstateRequest): Promise<ReinstateReply> {
    const { key, id, mode, owner, lease, latest, token, batchSize } = request;
    const args = [id, writeMode(mode), owner ?? '', lease, latest ?? 0, token, batchSize];
    const code = await this.#link.scripts.run('reinstate', this.keys.of(key), args, (raw) => oneOf(raw, -1, 0, 1));
    return code === 1 ? 'held' : code === 0 ? 'missing' : 'left';
  }

  /** @throws LockStoreError if the server does not answer within `commandTimeout` */
  identify(): Promise<ServerIdentity | undefined> {
    const { connection } = this.#link;
    return readServerIdentity(connection.commands, this.commandTimeout, () => connection.address, this.clock);
  }

  inspect(key: string, maxWaiters = MAX_WAITERS, maxHolds = Infinity): Promise<StoredLock> {
    return this.#commands.inspect(key, maxWaiters, maxHolds);
  }

  survey({ key, kind, owner = '' }: HoldSurveyRequest): Promise<HoldSurvey | undefined> {
    return this.#link.scripts.run('survey', this.keys.of(key), [kind, owner], readSurveyReply);
  }

  list(request: ListRequest): Promise<ListReply> {
    return this.#names.list(request);
  }

  time(): Promise<number> {
    return timeOf(this.#link.connection.commands);
  }

  subscribed(concerns?: (key: string) => boolean): void {
    this.#link.subscribed();
    this.listener?.restored(concerns);
  }

  reconnected(): void {
    this.listener?.restored();
  }

  nodeLost(served: (name: string) => boolean): void {
    this.listener?.doubted?.((key) => served(tagged(key)));
  }

  message(text: string, from: string | undefined): void {
    const message = readMessage(text);
    if (message?.word === 'granted') {
      this.#commands.evidence.heard(message.grant.id, message.grant.key);
      // Token 0 makes the ticket ask the store, instead of relying on the message.
      this.listener?.granted(message.node === from ? message.grant : { ...message.grant, token: 0 });
    } else if (message?.word === 'retry') this.listener?.retryAfter(message.id, message.delay);
    else if (message?.word === 'yield') this.listener?.yield(message.id);
    else if (message?.word === 'revoked') {
      const { id, token, by, next } = message;
      this.listener?.revoked(id, token, by, next);
    } else if (message?.word === 'opened') this.listener?.opened(message.key, message.latch);
  }

  /** A request may join the queue only if the client would receive its grant. */
  private waitingIfSubscribed(request: AcquireRequest): AcquireRequest {
    const waits = request.waits && this.#link.connection.isSubscribed(request.key, request.patience);
    return waits === request.waits ? request : { ...request, waits };
  }

  /**
   * Subscribes to the channel of the key. In a Cluster, the first request for a key comes before its subscription. A
   * lease counts from the request, so this may take only a part of it.
   */
  private subscribe({ key, patience, lease }: AcquireRequest): Promise<boolean> {
    return this.#link.connection.subscribeTo(key, patience, Math.min(LONGEST_HEARING, lease / 4));
  }

  /** A slow subscription stands before the request is repeated anyway. Until then the request has no place in the queue. */
  private async retryOnceSubscribed({ key, id, patience, period }: AcquireRequest): Promise<void> {
    if (await this.#link.connection.subscribeTo(key, patience, period)) this.listener?.retryAfter(id, 0);
  }
}

/** Returns a new random client id. */
export const newClientId = (): string => randomBytes(16).toString('hex');
