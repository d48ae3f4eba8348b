import type { ForceReleaseReply, HoldName, LockStore } from './lock-store.js';

/** What is asked of a store that is one of several, none of which knows of the others. */
export interface QuorumMember extends LockStore {
  /** Whether a grant that is pushed now would be heard. Only then may an acquisition wait in the queue. */
  readonly listening: boolean;
  /** Raises the fencing token of a hold. */
  fence(request: FenceRequest): Promise<FenceReply>;
  /** Ends the named holds of a key. May arrive twice or late: all others stay. */
  endHolds(key: string, holds: readonly HoldName[]): Promise<ForceReleaseReply>;
  /** Tells which server it is; `undefined`: we may not ask. */
  identify(): Promise<ServerIdentity | undefined>;
}

export interface FenceRequest {
  readonly key: string;
  readonly id: string;
  readonly token: number;
  /** How many tokens, from this one on, nobody else is to get. */
  readonly turns: number;
}

/** `refused`: somebody has had this token, or a larger one. `lease`: ms that are left. */
export type FenceReply =
  | { readonly outcome: 'written'; readonly lease: number }
  | { readonly outcome: 'refused'; readonly lease: number; readonly lastToken: number }
  | { readonly outcome: 'gone' };

export interface ServerIdentity {
  /** Different for every server process; `undefined`: it does not say. */
  readonly runId: string | undefined;
  /** Whether it is a node of a Redis Cluster. */
  readonly inCluster: boolean;
}
