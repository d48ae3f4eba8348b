import type { Redis } from 'ioredis';

/** A server, or a Sentinel, with a connection to it alone. */
export interface SentinelNode {
  readonly host: string;
  readonly port: number;
  readonly admin: Redis;
}

/** Under which name the Sentinel knows the master. */
export declare const MASTER_NAME: string;

/** What a master and its replica are started with. */
export declare const REPLICATION_ARGS: readonly string[];

/** The configuration of a Sentinel that takes a server for dead after `downAfter` ms without an answer. */
export declare function sentinelConfig(
  master: { readonly host: string; readonly port: number },
  downAfter: number,
): string;

/** Resolves when a replica follows its master. */
export declare function untilFollowing(replica: SentinelNode): Promise<void>;

/** Whom the Sentinel takes for the master. */
export declare function masterOf<Node extends SentinelNode>(
  sentinel: SentinelNode,
  servers: readonly Node[],
): Promise<Node>;

/** Asks for a failover, as before maintenance; repeats that while the Sentinel is not ready for one. */
export declare function askForFailover(sentinel: SentinelNode): Promise<void>;

/** Resolves when the Sentinel sees a master and a replica that follows it. */
export declare function untilSentinelSeesAll(sentinel: SentinelNode, servers: readonly SentinelNode[]): Promise<void>;
