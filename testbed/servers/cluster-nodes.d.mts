import type { Redis } from 'ioredis';

/** A node of a Cluster, with a connection to it alone. */
export interface ClusterNode {
  readonly host: string;
  readonly port: number;
  readonly admin: Redis;
}

/** A slot on its way from one master to another. */
export interface SlotMove<Node extends ClusterNode = ClusterNode> {
  readonly slot: number;
  readonly from: Node;
  readonly to: Node;
}

/** What nodes are started with. After `nodeTimeout` ms without an answer one of them counts as failed. */
export declare function clusterArgs(nodeTimeout: number): string[];

/** Joins nodes; the first ones become masters, the others their replicas in turn. */
export declare function formCluster(nodes: readonly ClusterNode[], masters: number): Promise<void>;

/** Resolves when all nodes agree on who has which slots, and all replicas follow. */
export declare function untilClusterIsWhole(nodes: readonly ClusterNode[]): Promise<void>;

/** Takes all that is in a slot to another master, as `redis-cli --cluster reshard` does. May be repeated. */
export declare function moveKeys(move: SlotMove): Promise<void>;

/** Tells all nodes that the slot has a new master. */
export declare function endMove(move: SlotMove, nodes: readonly ClusterNode[]): Promise<void>;

export declare function idOf(node: ClusterNode): Promise<string>;
export declare function isMaster(node: ClusterNode): Promise<boolean>;
