import type { LockStoreError } from '../errors/index.js';
import type { ClientRecordStore } from './client-records.js';
import type { LatchStore, ReplicateRequest } from './latch-store.js';
import type { PermitStore } from './permit-store.js';

export type { ReplicateRequest };
export { FOLLOWER_PERIOD, UNCONTENDED_BATCH_SIZE } from './protocol.generated.js';

/** The token of a hold if the store keeps no fencing tokens. */
export const NO_TOKEN = 0;

/**
 * The port between the engine and a store: Redis, or any other place that keeps the locks. Every acquisition has its
 * own id, which begins with its client's id. Each call names that id and acts on it alone. So a store may execute a
 * call twice or late. A call that fails rejects with `LockStoreError`.
 */
export interface LockStore {
  /** The client's id. The ids of all its acquisitions begin with it and a colon. */
  readonly clientId: string;
  /** Whether the client receives messages to holders now: a forced release, a `yield`. */
  readonly listening: boolean;
  /** Whether the client receives all its messages, including grants of every key. If left out, `listening` applies. */
  readonly fullySubscribed?: boolean;
  /** Increases when a connection is lost, at the latest when it is restored. Earlier replies may be out of date then. */
  readonly epoch: number;
  /** How many ms a reply takes normally, if that is known. Several distant masters take several round trips. */
  readonly replyTime?: number;

  /** Why a request is of no use now: the store has been unreachable for so long that requests would only pile up. */
  readonly unreachable: LockStoreError | undefined;
  /** Why a reply may be late, if that is known: a connection is lost. Requests go out when it is back. */
  readonly outage?: LockStoreError | undefined;

  /** Changes permits that are in use. If left out, `addPermits` and the release of some permits are refused. */
  readonly permits?: PermitStore;
  /** The count-down latches; `undefined`: this store does not support them. */
  readonly latches: LatchStore | undefined;
  /** The names that clients publish about themselves. If left out, `inspect` shows the ids of clients only. */
  readonly clients?: ClientRecordStore | undefined;
  /** Whether a release may miss a place in the queue, which then stays until it is stale. So every waiter retries often. */
  readonly mayKeepPlaces?: boolean;
  /** Whether the store may answer for some keys and not for others: in a Cluster, a master may be frozen. */
  readonly isPartitioned?: boolean;
  /** What this store cannot do: for each such feature the message of the error, which says what to do instead. */
  readonly lacks?: Readonly<Partial<Record<StoreFeature, string>>>;

  /** Connects. Resolves when the client receives grants. */
  start(): Promise<void>;
  /** Disconnects without waiting for replies. */
  close(): Promise<void>;
  /** Sets the receiver of the store's messages. */
  listen(listener: LockStoreListener): void;

  /** Requests the lock: for the first time, and again while waiting. */
  acquire(request: AcquireRequest): Promise<AcquireReply>;
  /** Releases a hold or a place in the queue, and sends the request of the next local waiter in the same step. */
  release(request: ReleaseRequest): Promise<ReleaseReply>;
  /** Renews many leases at once. A lease that fails does not affect the others. Never rejects. */
  renew(requests: readonly RenewRequest[]): Promise<RenewReply[]>;
  /**
   * Offers a hold to another client: its id becomes that of the offer, so that no call that names the old id finds it. The
   * call counts once; a repetition does not make the offer longer.
   */
  offer(request: OfferRequest): Promise<OfferReply>;
  /**
   * Acquires several locks in one step, or none: only if all are free and have no waiters. `undefined`: a request for each
   * lock has to find out whether they are free.
   */
  acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllReply | undefined>;
  /**
   * Waits until at least `min` replicas have the write of a hold, for at most `timeout` ms. Resolves to the number of
   * replicas that have it.
   */
  replicate(request: ReplicateRequest): Promise<number>;
  /**
   * Sets the number of permits of a semaphore for all requests, and grants to the waiters that fit now. Has no effect once a
   * later call has set the number. If left out, `setPermits` is refused.
   */
  setLimit?(key: string, permits: number): Promise<void>;
  /**
   * Ends the holds that a key has now, or only those with the ids in `hold`. The command names them, so a duplicate or late
   * copy ends no newer hold. `by`: who releases, which the message to the holders carries.
   */
  forceRelease(key: string, hold?: HoldChoice, by?: string): Promise<ForceReleaseReply>;
  /** Returns the state of a key, with at least `maxWaiters` of its waiters. May stop once it has `maxHolds` of its holds. */
  inspect(key: string, maxWaiters?: number, maxHolds?: number): Promise<StoredLock>;
  /** Answers questions about the holds of a key without reading all of them. If left out or `undefined`: use `inspect`. */
  survey?(request: HoldSurveyRequest): Promise<HoldSurvey | undefined>;
  /** Lists the keys that are held, in parts. If left out, this store cannot list its locks. */
  list?(request: ListRequest): Promise<ListReply>;
  /** The wall clock of the store, in ms since 1970. If left out, metrics do not show it. */
  time?(): Promise<number>;
}

/** Receives the messages of a store. */
export interface LockStoreListener {
  /** A waiting acquisition has been granted. */
  granted(grant: PushedGrant): void;
  /** A waiter has to retry in `delay` ms. */
  retryAfter(id: string, delay: number): void;
  /** A waiter comes before the rest of this hold's batch: release the lock instead of serving the batch. */
  yield(id: string): void;
  /**
   * A hold was ended by force. `token`: its own, not that of a later hold of the same acquisition. `by`: who ended it.
   * `next`: the id of the acquisition that got the lock instead, if the store knows it. Redlock and Redisson do not.
   */
  revoked(id: string, token?: number, by?: string, next?: string): void;
  /** The latch of that name (see `LatchCount`) has reached 0. */
  opened(key: string, latch: string): void;
  /** The client receives messages again after an interruption: about all keys, or the keys that `concerns` accepts. */
  restored(concerns?: (key: string) => boolean): void;
  /** Another server, which may lack holds, may take the place of the server with the keys that `concerns` accepts. */
  doubted?(concerns: (key: string) => boolean): void;
}

/**
 * How a lock is held: exclusively, shared with other readers, or as `units` of `limit` permits. In a request that does not
 * wait, 0 units ask for all permits that are free. The request gets none while other requests wait for permits.
 */
export type HoldMode =
  | {
      readonly kind: 'exclusive';
      /** Whether it was requested as the write lock of a read-write lock. Most stores keep one exclusive lock for both. */
      readonly isWrite?: true;
    }
  | { readonly kind: 'read' }
  | { readonly kind: 'permits'; readonly units: number; readonly limit: number };

/** A request for a lock, under an id of its own: repeated under the same id, it has the same effect once. */
export interface AcquireRequest {
  readonly key: string;
  readonly id: string;
  readonly mode: HoldMode;
  /** If left out, the acquisition is its own owner. */
  readonly owner: string | undefined;
  /** Lease in ms. */
  readonly lease: number;
  /**
   * Whether to join the queue if the lock is not free. The store adds a ticket only if the client would receive its
   * grant. Otherwise the reply is `busy`, and `restored` follows once it would.
   */
  readonly waits: boolean;
  /** The longest time until the next retry, in ms. */
  readonly period: number;
  /** How long a ticket is kept without a retry, in ms. */
  readonly patience: number;
  /** The first lease of a pushed grant, in ms. */
  readonly grantTimeout: number;
  /** The batch size: how many waiters of this client one grant may serve. As many tokens are reserved. */
  readonly batchSize: number;
  /**
   * How many waiters of this client may have `units` permits each at the same time under one grant. Default 1. A request
   * is granted once one slot fits, and gets as many as fit then: one hold with the permits of all. A fair request gets
   * one, and so does any other request while a fair one waits.
   */
  readonly slots?: number | undefined;
  /**
   * The batch size while no other client waits. A hold with `UNCONTENDED_BATCH_SIZE` gets the message `yield` when
   * another client comes.
   */
  readonly uncontendedBatchSize: number;
  /**
   * Whether waiters are served in the order of arrival across clients. While this request waits, no grant serves a
   * batch.
   */
  readonly fair: boolean;
  /**
   * Whether the caller holds other keys meanwhile, which stand idle until this request is granted. A new request goes ahead
   * of others that came before it, but leaves one of them between two such requests. A store may ignore it.
   */
  readonly ahead?: boolean | undefined;
  /**
   * For how many ms the request has been waiting. It gets the place of a request that arrived so long ago, which is the
   * same on all servers. A retry never moves it back. If left out, a new request goes to the end.
   */
  readonly age?: number;
  /**
   * When the first caller behind this request called, by the client's monotonic clock. For a store without a queue: it orders
   * the requests of this client.
   */
  readonly since?: number | undefined;
  /**
   * Whether the request has reduced its age, to separate it from requests of the same moment. Only then may it fall
   * back.
   */
  readonly backedOff?: boolean;
  /**
   * The id of an offer: the request takes over the hold that another client has offered, with its mode, instead of asking
   * for the lock. It gets the next token. The reply is `held`, also to a repetition, or `left` if there is no such offer.
   */
  readonly adopts?: string | undefined;
}

/** The lock is granted. */
export interface HeldReply {
  readonly outcome: 'held';
  readonly time: number;
  readonly token: number;
  /** The lease in ms, counted from when the request was sent. */
  readonly lease: number;
  /** How many waiters the grant may serve: the number of tokens, beginning with `token`. At least one for each slot. */
  readonly batchSize: number;
  /** How many permits the hold has. May be left out if they are as many as one slot needs. */
  readonly units?: number | undefined;
}

/** The lock is not granted: the request waits in the queue, or it asked for an immediate answer. */
export interface ContendedReply {
  readonly outcome: 'queued' | 'busy';
  /** The store's clock, in ms. */
  readonly time: number;
  /** In how many ms to retry. */
  readonly retryAfter: number;
  readonly lastToken: number;
  /** Ids of some of the holders. */
  readonly holders: readonly string[];
  /** Several requests have some votes each, and none of them has a majority of the masters. If left out, it is held. */
  readonly isSplit?: boolean | undefined;
}

/**
 * The reply to a request for a lock. `held`: granted. `queued`: has a place in the queue. `busy`: not free, and no place.
 * `left`: was abandoned before. `upgrade`: its owner has a read lock and requests the exclusive lock, so it would wait for
 * itself. `too many`: it requests more permits than exist.
 */
export type AcquireReply =
  HeldReply | ContendedReply | { readonly outcome: 'left' | 'upgrade'; readonly time: number } | TooManyReply;

/** The grants, in the order of the requests; or one of the keys that other holders keep from the requests. */
export type AcquireAllReply =
  | readonly HeldReply[]
  | {
      readonly outcome: 'busy';
      readonly key: string;
      /** Ids of some of the holders. */
      readonly holders: readonly string[];
    };

/** The request asks for more permits than the lock has. */
export interface TooManyReply {
  readonly outcome: 'too many';
  readonly time: number;
  /** The number of permits. */
  readonly limit: number;
}

/** The end of a hold, or of a request that waits. */
export interface ReleaseRequest {
  readonly key: string;
  readonly id: string;
  /** How many ms the tombstone lives, in case an `acquire` of this acquisition arrives later. */
  readonly tombstoneFor: number;
  /** For how many ms the key stays locked. */
  readonly keep: number;
  /** The request to send in the same step. */
  readonly next: AcquireRequest | undefined;
}

/** Whether the store knew the hold, and the reply to the next request if one was sent along. */
export interface ReleaseReply {
  /** Whether there was a hold. */
  readonly released: boolean;
  readonly next: AcquireReply | undefined;
}

/** The lease that a hold asks for. */
export interface RenewRequest {
  readonly key: string;
  readonly id: string;
  /** The lease in ms from now on; 0 only reads it. */
  readonly lease: number;
}

/** The ms that are left of the lease, `'not-held'` if there is no such hold, or the error if that is unknown. */
export type RenewReply = number | 'not-held' | Error;

/** An offer of a hold to one other client. */
export interface OfferRequest {
  readonly key: string;
  readonly id: string;
  /** The id of the offer, which begins with no client's id. */
  readonly offer: string;
  /** For how many ms the offer stands. Then the hold ends. */
  readonly lease: number;
}

/** The ms that are left of the offer; `'not-held'`: no such hold; `'shared'`: its owner has another hold of this key. */
export type OfferReply = number | 'not-held' | 'shared';

/** Names one grant of a hold. An acquisition may be granted again under the same id after it was ended by force. */
export type HoldName = Pick<StoredHold, 'id' | 'since'>;

/** What a release by force ended. */
export interface ForceReleaseReply {
  /** The number of holds that were ended. */
  readonly holds: number;
  /** How many of their clients received the message. */
  readonly told: number;
}

/** A lock as the store knows it. */
export interface StoredLock {
  readonly lastToken: number;
  readonly holds: readonly StoredHold[];
  /** The store stopped at `maxHolds`: there may be more holds. */
  readonly hasMore?: boolean;
  readonly waiters: readonly StoredWaiter[];
  /** The number of permits, if it was set at run time. */
  readonly limit: number | undefined;
}

/**
 * A waiter as the store knows it. `since`: when its ticket joined the queue, by the store's clock. A retry does not change
 * it.
 */
export type StoredWaiter = Pick<StoredHold, 'id' | 'owner' | 'mode' | 'since'>;

/** A hold as the store knows it. */
export interface StoredHold {
  readonly id: string;
  readonly owner: string;
  readonly mode: HoldMode;
  /** Whether it is released already, and its key stays locked for the rest of its `holdAtLeast`. */
  readonly kept: boolean;
  readonly token: number;
  readonly ttl: number;
  readonly since: number;
}

/** Which holds of a key are meant, by their ids; `undefined`: all of them. */
export type HoldChoice = string | readonly string[] | undefined;

/** Returns whether a hold is meant. */
export function chooser(choice: HoldChoice): (hold: { readonly id: string }) => boolean {
  if (choice === undefined) return () => true;
  const ids = new Set(typeof choice === 'string' ? [choice] : choice);
  return ({ id }) => ids.has(id);
}

/** What is asked about the holds of a key: those of one kind, and whether an owner has one of them. */
export interface HoldSurveyRequest {
  readonly key: string;
  readonly kind: 'exclusive' | 'read' | 'permits';
  readonly owner?: string | undefined;
}

/** The answers about the holds of a key. */
export interface HoldSurvey {
  /** The ms that are left of the longest lease of this kind; -2: there is no such hold. */
  readonly ttl: number;
  /** Whether the owner has a hold of this kind that is not released. */
  readonly isOwned: boolean;
  /** The permits in use. */
  readonly units: number;
  /** Whether there is a hold of another kind. */
  readonly hasOthers: boolean;
  /** The number of permits, if it was set at run time. */
  readonly limit: number | undefined;
}

/** Asks for one part of the keys that are held, so that no request takes long. */
export interface ListRequest {
  /** The cursor of the last reply; `''`: from the beginning. */
  readonly cursor: string;
  /** About how many names the store looks at for this part. Names that are not locks count, too. */
  readonly budget: number;
}

/** One part of the list of all keys. */
export interface ListReply {
  /**
   * The keys of this part. A key may appear in two parts. A key that is acquired or released in the meantime may be
   * missing.
   */
  readonly keys: readonly string[];
  /** Where to continue; `undefined`: there are no more keys. */
  readonly cursor: string | undefined;
  /** The store's clock, in ms. The `since` of a hold refers to it. */
  readonly time: number;
}

/** A grant that the store reports in a message to its waiter. */
export interface PushedGrant {
  readonly key: string;
  readonly id: string;
  readonly token: number;
  /** The first lease in ms, from `time` on. */
  readonly lease: number;
  /** The store's clock at the grant, in ms. */
  readonly time: number;
  /** As in `HeldReply`. */
  readonly batchSize: number;
  /** As in `HeldReply`. */
  readonly units?: number | undefined;
}

/** What some stores cannot do. */
export type StoreFeature =
  | 'fair'
  | 'handover'
  | 'holdAtLeast'
  | 'latchDelete'
  | 'latchExpire'
  | 'latches'
  | 'list'
  | 'owner'
  | 'permitChanges'
  | 'permits'
  | 'replicas';
