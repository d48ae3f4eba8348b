import type { Cluster, Redis } from 'ioredis';

/** The masters of a Cluster that its client knows at the moment. */
export class ClusterNodes {
  private refreshing: Promise<void> | undefined;
  /** The masters that have not answered `examine` yet. */
  private readonly asked = new Set<Redis>();

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
    let shared: string[] | undefined;
    for (const [slot, nodes] of slots.entries()) {
      if (nodes !== undefined && nodes === shared) slots[slot] = [...nodes];
      else shared = nodes;
    }
  }

  /**
   * Asks the masters which node serves which slots, and closes the connections to silent ones that have been replaced.
   * Then ioredis sends their commands to the new masters. ioredis itself asks the nodes in random order, and waits for
   * each frozen one. So it is asked only when it is known that the slots have moved.
   */
  examine(): void {
    const silent = new Set(this.asked);
    const others = this.masters().filter(({ client }) => !silent.has(client));
    if (others.length === 0) void this.refresh();
    for (const { client } of others) {
      this.asked.add(client);
      client
        .cluster('SLOTS')
        .then((ranges) => this.compare(ranges, silent))
        .catch(() => undefined)
        .finally(() => this.asked.delete(client));
    }
  }

  private compare(ranges: readonly SlotRange[], silent: ReadonlySet<Redis>): void {
    const owners = ranges.map(([start, , master]) => ({ start, address: this.addressOf(master) }));
    // A node that does not know its own address reports none.
    const isUsable = ranges.every(([, , master]) => master?.[0]);
    const isMaster = (node: ClusterNode): boolean => owners.some(({ address }) => address === node.address);
    const replaced = this.masters().filter((node) => isUsable && silent.has(node.client) && !isMaster(node));
    for (const { client } of replaced) {
      // Until then, ioredis would ask this node for the slots, too.
      client.once('end', () => void this.refresh());
      client.disconnect();
      client.stream?.destroy();
    }
    const isKnown = owners.every(({ start, address }) => this.cluster.slots[start]?.[0] === address);
    if (replaced.length === 0 && !isKnown) void this.refresh();
  }

  /** The address as ioredis uses it, given the address that a node has reported. */
  private addressOf([host, port]: ReportedNode = ['', 0]): string {
    const reported = `${host}:${port}`;
    const { natMap } = this.cluster.options;
    const mapped = typeof natMap === 'function' ? natMap(reported) : natMap?.[reported];
    return mapped ? `${mapped.host}:${mapped.port}` : reported;
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

/** An entry of the reply to CLUSTER SLOTS: the master comes first. */
type SlotRange = readonly [start: number, end: number, ...nodes: ReportedNode[]];
type ReportedNode = readonly [host: string, port: number, ...more: unknown[]];

export interface ClusterNode {
  /** `host:port`, as ioredis names it. */
  readonly address: string;
  /** The client's own connection to the node, to be duplicated. */
  readonly client: Redis;
}
