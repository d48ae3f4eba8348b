import type { Cluster, Redis } from 'ioredis';

/** The masters of a Cluster that its client knows at the moment. */
export class ClusterNodes {
  private refreshing: Promise<void> | undefined;

  constructor(private readonly cluster: Cluster) {}

  /** The prefix that ioredis adds to each key, whichever option set it. */
  get keyPrefix(): string | undefined {
    return this.cluster.options.keyPrefix;
  }

  /** The node that serves a slot; `undefined` if that is not known at the moment. */
  ownerOf(slot: number): ClusterNode | undefined {
    const node = this.cluster.slots[slot]?.[0];
    return node === undefined ? undefined : this.find(node);
  }

  /** Whether another node than this one is known to serve a slot. */
  hasLeft(slot: number, address: string): boolean {
    const node = this.cluster.slots[slot]?.[0];
    return node !== undefined && node !== address;
  }

  /** A random node. */
  any(): ClusterNode | undefined {
    const masters = this.masters();
    return masters[Math.floor(Math.random() * masters.length)];
  }

  has(address: string): boolean {
    return this.find(address) !== undefined;
  }

  /** Sends a PING to a node on its connection for commands. Rejects if there is none. */
  async ping(address: string): Promise<void> {
    const node = this.find(address);
    if (node === undefined) throw new Error(`${address} is no longer a master`);
    await node.client.ping();
  }

  /** Asks the Cluster which node serves which slots. Never rejects. */
  refresh(): Promise<void> {
    this.refreshing ??= new Promise<void>((resolve) => this.cluster.refreshSlotsCache(() => resolve())).then(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }

  /**
   * Gives each slot a list of its own. ioredis gives one list to all slots of a range, and changes it when one of these
   * slots has moved. All of them would count as moved until the next refresh.
   */
  separateSlots(): void {
    const { slots } = this.cluster;
    for (let slot = 1; slot < slots.length; slot++) {
      const nodes = slots[slot];
      if (nodes !== undefined && nodes === slots[slot - 1]) slots[slot] = [...nodes];
    }
  }

  private find(address: string): ClusterNode | undefined {
    return this.masters().find((node) => node.address === address);
  }

  private masters(): ClusterNode[] {
    return this.cluster.nodes('master').map((client) => ({
      address: `${client.options.host}:${client.options.port}`,
      client,
    }));
  }
}

export interface ClusterNode {
  /** `host:port`, as ioredis names it. */
  readonly address: string;
  /** The client's own connection to the node, to be duplicated. */
  readonly client: Redis;
}
