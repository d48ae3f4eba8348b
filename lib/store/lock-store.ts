import type { LockStoreError } from '../errors/index.js';
import type { ListReply, ListRequest } from './key-list.js';
import type { LatchStore } from './latch-store.js';
import type { ReplicateRequest } from './replicate-request.js';

export type { ReplicateRequest };
export { UNCONTENDED_BATCH_SIZE } from './protocol.generated.js';

/**
 * What the engine asks of a store: the port behind which Redis, or anything else, keeps the locks.
 *
 * Every acquisition has an id of its own that begins with its client's id, and each call names it and acts on it
 * alone; so a store may execute a call twice or late. A call that fails rejects with `LockStoreError`.
 */
export interface LockStore {
  /** The client's id; all its acquisitions' ids begin with it and a colon. */
  readonly clientId: string;
  /** Whether it hears now what is told to those who hold something: a release by force, a word to yield. */
  readonly listening: boolean;
  /**
   * Whether all that it is to hear is heard, grants of every key included, as far as that is known. Left out: `listening`
   * says so.
   */
  readonly hearsAll?: boolean;
  /** Grows whenever the connection was lost and made anew: what was told before may not hold after. */
  readonly epoch: number;

  /** How many ms an answer may take that is not late, as far as that is known: several far masters take several round trips. */
  readonly answerTime?: number;

  /** Why it is no use to ask now: it has been out of reach for so long that what is sent would only pile up. */
  readonly unreachable: LockStoreError | undefined;
  /** Why an answer may be late, if that is known: a connection is lost. What is sent goes out when it is back. */
  readonly outage?: LockStoreError | undefined;

  /** Whether it can count permits. Several masters cannot: that each hold has a majority says nothing of how many there are. */
  readonly keepsPermits: boolean;
  /** Keeps count-down latches; `undefined`: this store cannot. */
  readonly latches: LatchStore | undefined;

  /** Connects; resolves when grants can be heard. */
  start(): Promise<void>;
  /** Disconnects, without waiting for answers. */
  close(): Promise<void>;
  /** Names the one who hears what the store has to tell. */
  listen(listener: LockStoreListener): void;

  /** Asks for the lock: the first time, and again while waiting. */
  acquire(request: AcquireRequest): Promise<AcquireReply>;
  /** Gives back a hold or a place in the queue, and asks for the next local waiter in the same step. */
  release(request: ReleaseRequest): Promise<ReleaseReply>;
  /** Renews many leases at once; one that fails does not disturb the others. Never rejects. */
  renew(requests: readonly RenewRequest[]): Promise<RenewReply[]>;
  /** Sets a lease anew, longer or shorter. */
  extend(request: RenewRequest): Promise<RenewReply>;
  /** Takes several locks in one step, or none: only if all are free and nobody waits for any. `undefined`: they are not. */
  acquireAll(requests: readonly AcquireRequest[]): Promise<readonly HeldReply[] | undefined>;
  /**
   * Sees to it that at least `min` replicas have what was written of a hold, waits at most `timeout` ms for that, and
   * answers how many have it.
   */
  replicate(request: ReplicateRequest): Promise<number>;
  /**
   * Sets the number of permits of a semaphore for all requests, and grants to those that fit now. What it sends has no
   * effect once a later call has set the number.
   */
  setLimit(key: string, permits: number): Promise<void>;
  /**
   * Ends the holds that a key has now. What it sends names them, so a copy that arrives twice or late ends no hold that
   * was granted since.
   */
  forceRelease(key: string): Promise<ForceReleaseReply>;
  /** Tells what is known of a key. */
  inspect(key: string): Promise<StoredLock>;
  /** Lists the keys that are held, a part at a time. Left out: this store cannot, and nobody sees its locks as a whole. */
  list?(request: ListRequest): Promise<ListReply>;
}

/** What a store tells of its own accord. */
export interface LockStoreListener {
  /** An acquisition that waited has been granted. */
  granted(grant: PushedGrant): void;
  /** A waiter is to ask again in `delay` ms. */
  retryAfter(id: string, delay: number): void;
  /** Somebody waits behind this hold who is to be served before others have it in turn. */
  yield(id: string): void;
  /** A hold was ended by force; `token`: the one that had this, not one that the same acquisition got later. */
  revoked(id: string, token?: number): void;
  /** A latch has come to 0: the one of that name (see `LatchCount`). */
  opened(key: string, latch: string): void;
  /** The store hears again, after it could not for a while. */
  restored(): void;
}

/** In which way a lock is held: alone, together with other readers, or as `units` of `limit` permits. */
export type LockMode =
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'read' }
  | { readonly kind: 'permits'; readonly units: number; readonly limit: number };

export interface AcquireRequest {
  readonly key: string;
  readonly id: string;
  readonly mode: LockMode;
  /** Left out: the acquisition is its own owner. */
  readonly owner: string | undefined;
  /** Lease in ms. */
  readonly lease: number;
  /**
   * Whether to take a place in the queue when the lock is not free. The store sees to it that a grant would be heard, and
   * gives no place otherwise: then the answer is `busy`, and `restored` follows once it hears again.
   */
  readonly waits: boolean;
  /** When to ask again at the latest, in ms. */
  readonly period: number;
  /** For how long the place in the queue is kept without hearing again, in ms. */
  readonly patience: number;
  /** First lease of a pushed grant, in ms. */
  readonly grantTimeout: number;
  /** How many of its client are to have it in turn under one grant, each with a token of its own: as many are reserved. */
  readonly batchSize: number;
  /** The same while nobody else waits. Whoever has as many as `TURNS_ALONE` is told to `yield` when somebody comes. */
  readonly uncontendedBatchSize: number;
  /** Whether it is to be served in the order in which all came: while it waits, others get no turns. */
  readonly fair: boolean;
  /**
   * For how many ms it has been wanted: it gets the place of somebody who came so long ago, which is the same one with
   * several servers, and when it asks again no later one than it has. Left out: it comes last.
   */
  readonly age?: number;
  /** Whether it has made itself younger than it is, to part from those who came at the same moment: it may fall behind then. */
  readonly backedOff?: boolean;
}

export interface HeldReply {
  readonly outcome: 'held';
  readonly time: number;
  readonly token: number;
  /** ms of lease, counted from when the store was asked. */
  readonly lease: number;
  /** How many may have it in turn: the tokens from `token` on. */
  readonly batchSize: number;
}

export interface ContendedReply {
  readonly outcome: 'queued' | 'busy';
  /** The store's clock, in ms. */
  readonly time: number;
  /** In how many ms to ask again. */
  readonly retryAfter: number;
  readonly lastToken: number;
  /** Ids of some of those who hold it. */
  readonly holders: readonly string[];
}

/**
 * `held`: granted. `queued`: has a place. `busy`: not free and no place. `left`: has given up before. `upgrade`: its owner
 * reads, and wants the lock alone, for which it would wait for itself. `too many`: there are fewer permits than it wants.
 */
export type AcquireReply =
  HeldReply | ContendedReply | { readonly outcome: 'left' | 'upgrade'; readonly time: number } | TooManyReply;

export interface TooManyReply {
  readonly outcome: 'too many';
  readonly time: number;
  /** How many permits there are. */
  readonly limit: number;
}

export interface ReleaseRequest {
  readonly key: string;
  readonly id: string;
  /** For how many ms to remember that the acquisition has left, should its `acquire` still be on the way. */
  readonly tombstoneFor: number;
  /** For how many ms to keep the key taken. */
  readonly keep: number;
  /** What to ask for in the same step. */
  readonly next: AcquireRequest | undefined;
}

export interface ReleaseReply {
  /** Whether there was a hold to release. */
  readonly released: boolean;
  readonly next: AcquireReply | undefined;
}

export interface RenewRequest {
  readonly key: string;
  readonly id: string;
  /** Lease in ms from now on; 0 only looks. */
  readonly lease: number;
}

/** ms of lease left, `'gone'` when there is no such hold, or why it is not known. */
export type RenewReply = number | 'gone' | Error;

/** Names one grant of a hold: its acquisition may be granted again under the same id, after it was ended by force. */
export type HoldName = Pick<StoredHold, 'id' | 'since'>;

export interface ForceReleaseReply {
  /** How many holds were ended. */
  readonly holds: number;
  /** How many of their clients were there to be told. */
  readonly told: number;
}

export interface StoredLock {
  readonly lastToken: number;
  readonly holds: readonly StoredHold[];
  readonly waiters: readonly { readonly id: string; readonly owner: string; readonly mode: LockMode }[];
  /** The number of permits, where it was set at run time. */
  readonly limit: number | undefined;
}

export interface StoredHold {
  readonly id: string;
  readonly owner: string;
  readonly mode: LockMode;
  /** Given back already, and kept for the rest of its `holdAtLeast`. */
  readonly kept: boolean;
  readonly token: number;
  readonly ttl: number;
  readonly since: number;
}

export interface PushedGrant {
  readonly key: string;
  readonly id: string;
  readonly token: number;
  /** First lease in ms, from `time` on. */
  readonly lease: number;
  /** The store's clock at the grant, in ms. */
  readonly time: number;
  /** As in `HeldReply`. */
  readonly batchSize: number;
}
