import { hashSlot } from '../../keys/index.js';
import type { ClusterNode, ClusterNodes } from './cluster-nodes.js';
import type { ConfirmingScript, ReplicaConfirmation } from './connection.js';
import { ReplicaAcknowledgement, retryConfirmation } from './replica-acknowledgement.js';
import { storeFailure } from './store-failure.js';

/**
 * Confirms writes at the replicas of a Cluster. `WAIT` covers only what its own connection wrote. So each master gets a
 * connection of its own for it.
 */
export class ClusterReplicas implements ReplicaConfirmation {
  private readonly nodes = new Map<string, ReplicaAcknowledgement>();

  constructor(
    private readonly cluster: ClusterNodes,
    private readonly commandTimeout: number,
    private readonly doubt: () => void,
  ) {}

  confirm(
    key: string,
    id: string,
    min: number,
    timeout: number,
    script: ConfirmingScript = 'confirm',
  ): Promise<number> {
    let isFirst = true;
    return retryConfirmation(timeout, async (left) => {
      if (!isFirst) await this.cluster.refresh();
      isFirst = false;
      const owner = this.cluster.ownerOf(hashSlot(key));
      if (owner === undefined) throw storeFailure(new Error('CLUSTERDOWN no node is known to serve the slot'));
      return this.of(owner).confirm(key, id, min, left, script);
    });
  }

  /** Closes connections to nodes that are no longer masters. A frozen node does not report that itself. */
  follow(): void {
    for (const [address, node] of this.nodes) {
      if (this.cluster.has(address)) continue;
      this.nodes.delete(address);
      node.close();
    }
  }

  close(): void {
    for (const node of this.nodes.values()) node.close();
    this.nodes.clear();
  }

  private of({ address, at }: ClusterNode): ReplicaAcknowledgement {
    let node = this.nodes.get(address);
    if (node === undefined) {
      const { lines } = this.cluster.target;
      node = new ReplicaAcknowledgement(() => lines.open({}, at), this.commandTimeout, this.doubt);
      this.nodes.set(address, node);
    }
    return node;
  }
}
