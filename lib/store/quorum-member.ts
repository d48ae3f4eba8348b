import type { ClientRecordStore } from './client-records.js';
import type { ForceReleaseReply, HoldName, HoldMode, ListReply, ListRequest, LockStore } from './lock-store.js';

/** The interface of a store that is one of several independent ones. */
export interface QuorumMember extends LockStore {
  /** Whether the client would receive a pushed grant now. Only then may an acquisition wait in the queue. */
  readonly listening: boolean;
  readonly fullySubscribed: boolean;
  readonly clients: ClientRecordStore;
  list(request: ListRequest): Promise<ListReply>;
  /** Raises the fencing token of a hold. Even if the hold is gone, no other hold gets these tokens. */
  fence(request: FenceRequest): Promise<FenceReply>;
  /** Gives a hold that other masters have its vote again on this one, which has lost it. */
  reinstate(request: ReinstateRequest): Promise<ReinstateReply>;
  /**
   * Ends the named holds of a key. All other holds stay, even if the command arrives twice or late. `by`: who releases them by
   * force, for their holders. `memory`: for how many ms `reinstate` refuses them, at least; only Redlock passes it.
   */
  endHolds(key: string, holds: readonly HoldName[], by?: string, memory?: number): Promise<ForceReleaseReply>;
  /** Returns the identity of the server; `undefined`: the server does not permit the question. */
  identify(): Promise<ServerIdentity | undefined>;
}

export interface FenceRequest {
  readonly key: string;
  readonly id: string;
  readonly token: number;
  /** How many tokens, beginning with this one, are reserved. */
  readonly batchSize: number;
}

/** `refused`: a holder has had this token or a larger one. `lease`: the ms that are left. */
export type FenceReply =
  | { readonly outcome: 'written'; readonly lease: number }
  | { readonly outcome: 'refused'; readonly lease: number; readonly lastToken: number }
  | { readonly outcome: 'not-held' };

export interface ReinstateRequest extends FenceRequest {
  readonly mode: HoldMode;
  /** If left out, the acquisition is its own owner. */
  readonly owner: string | undefined;
  /** The rest of the lease in ms; 0 only looks. */
  readonly lease: number;
  /** The latest end of the lease by the master's clock, in ms; `undefined`: the clock is not known. */
  readonly latest: number | undefined;
}

/** `missing`: other clients hold the lock here, it was released here, or the call only looked. `left`: it was ended by force. */
export type ReinstateReply = 'held' | 'missing' | 'left';

export interface ServerIdentity {
  /** Different for every server process; `undefined`: it does not say. */
  readonly runId: string | undefined;
  /** Whether it is a node of a Redis Cluster. */
  readonly inCluster: boolean;
  /** Its clock, in ms; `undefined`: it does not say. */
  readonly time?: number | undefined;
  /** Host and port to which the connection leads, as far as that is known. */
  readonly address?: string | undefined;
}
