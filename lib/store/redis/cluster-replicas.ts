import type { Redis } from 'ioredis';
import type { LockStoreError } from '../../errors/index.js';
import type { ClusterNode, ClusterNodes } from './cluster-nodes.js';
import { keepAliveLike, REPLICATION_OPTIONS } from './connection-options.js';
import type { ConfirmingScript, ReplicaConfirmation } from './connection.js';
import { ReplicaAcknowledgement } from './replica-acknowledgement.js';
import { storeFailure } from './store-failure.js';

/** How many ms after a failure the Cluster is asked again who has the slot. */
const AGAIN = 50;
/** What is said of a slot that is elsewhere by now, or on its way. */
const ELSEWHERE = /^(MOVED|ASK|CLUSTERDOWN|READONLY)\b/;

/**
 * `WAIT` speaks of what its own connection has written, so it goes to the master that has the lock, on a connection of
 * its own to each of them.
 */
export class ClusterReplicas implements ReplicaConfirmation {
  private readonly nodes = new Map<string, ReplicaAcknowledgement>();

  constructor(
    private readonly cluster: ClusterNodes,
    private readonly commandTimeout: number,
  ) {}

  async confirm(
    key: string,
    id: string,
    min: number,
    timeout: number,
    script: ConfirmingScript = 'confirm',
  ): Promise<number> {
    const until = performance.now() + timeout;
    for (;;) {
      const owner = this.cluster.ownerOf(key);
      const left = Math.max(0, until - performance.now());
      try {
        if (owner !== undefined) return await this.of(owner).confirm(key, id, min, left, script);
      } catch (error) {
        if (!isElsewhere(error as LockStoreError) || left === 0) throw error;
      }
      if (left === 0) throw storeFailure(new Error('CLUSTERDOWN nobody is known to have the slot'));
      await new Promise((resolve) => setTimeout(resolve, AGAIN).unref());
      await this.cluster.refresh();
    }
  }

  close(): void {
    for (const node of this.nodes.values()) node.close();
    this.nodes.clear();
  }

  private of({ address, client }: ClusterNode): ReplicaAcknowledgement {
    let node = this.nodes.get(address);
    if (node === undefined) {
      const options = { keepAlive: keepAliveLike(client), keyPrefix: this.cluster.keyPrefix };
      const connect = (): Redis => client.duplicate({ ...REPLICATION_OPTIONS, ...options });
      node = new ReplicaAcknowledgement(connect, this.commandTimeout);
      this.nodes.set(address, node);
    }
    return node;
  }
}

const isElsewhere = ({ cause }: LockStoreError): boolean => cause instanceof Error && ELSEWHERE.test(cause.message);
