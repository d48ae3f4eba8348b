import type { ForceReleaseReply, HoldName, LockMode, LockStore } from './lock-store.js';

/** What is asked of a store that is one of several, none of which knows of the others. */
export interface QuorumMember extends LockStore {
  /** Whether a grant that is pushed now would be heard. Only then may an acquisition wait in the queue. */
  readonly listening: boolean;
  /** Raises the fencing token of a hold; where that is gone, nobody else gets these tokens all the same. */
  fence(request: FenceRequest): Promise<FenceReply>;
  /** Gives a hold that other masters have its vote again on this one, which has lost it. */
  reinstate(request: ReinstateRequest): Promise<ReinstateReply>;
  /**
   * Ends the named holds of a key. May arrive twice or late: all others stay. `memory`: ms for which `reinstate` refuses
   * them at least; left out, it is not used.
   */
  endHolds(key: string, holds: readonly HoldName[], memory?: number): Promise<ForceReleaseReply>;
  /** Tells which server it is; `undefined`: we may not ask. */
  identify(): Promise<ServerIdentity | undefined>;
}

export interface FenceRequest {
  readonly key: string;
  readonly id: string;
  readonly token: number;
  /** How many tokens, from this one on, nobody else is to get. */
  readonly batchSize: number;
}

/** `refused`: somebody has had this token, or a larger one. `lease`: ms that are left. */
export type FenceReply =
  | { readonly outcome: 'written'; readonly lease: number }
  | { readonly outcome: 'refused'; readonly lease: number; readonly lastToken: number }
  | { readonly outcome: 'gone' };

export interface ReinstateRequest extends FenceRequest {
  readonly mode: LockMode;
  /** Left out: the acquisition is its own owner. */
  readonly owner: string | undefined;
  /** ms of the lease that are left; 0 only looks. */
  readonly lease: number;
  /** When that ends at the latest by the master's clock, in ms; `undefined`: the clock is not known. */
  readonly latest: number | undefined;
}

/** `missing`: others have it here, or it was only looked at. `left`: it was given back, or ended by force. */
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
