import type { Cluster, Redis } from 'ioredis';
import { clearReadingTimer, setReadingTimer } from '../../common/reading-timer.js';
import { hashSlot } from '../../keys/index.js';
import { DOUBT } from './connection-options.js';
import { Mastership } from './mastership.js';

/** How many other masters are asked whether one is still the master of a slot, and for how many ms. */
const WITNESSES = 3;
const ANSWER_WITHIN = 250;

/** The masters of a Cluster that its client knows at the moment. */
export class ClusterNodes {
  private refreshing: Promise<void> | undefined;
  /** The masters that have not answered `examine` yet, and when they were asked. */
  private readonly asked = new Map<Redis, number>();
  /** The number of the latest `examine`, and of the latest one whose masters have all answered. */
  private round = 0;
  private finished = 0;

  /** By address. */
  private readonly masterships = new Map<string, Mastership>();

  constructor(
    private readonly cluster: Cluster,
    /** Called when a master turns out to be replaced: the slots that it served, and when the new ones are known. */
    private readonly replaced: (served: ReadonlySet<number>, refreshed: Promise<void>) => void,
    /** Called when a reply does not count, so the command is sent again. It may have been executed. */
    private readonly unconfirmed: () => void,
  ) {}

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

  /** Whether the slot map names this node, which may be away, as the master of a slot. */
  isOwner(address: string, slot: number): boolean {
    return this.cluster.slots[slot]?.[0] === address;
  }

  /** Whether others are asked about a master now. */
  get isAsking(): boolean {
    return [...this.masterships.values()].some(({ isAsking }) => isAsking);
  }

  masterOf(name: string): string | undefined {
    return this.cluster.slots[hashSlot(name)]?.[0];
  }

  confirm(name: string, address = this.masterOf(name)): Promise<boolean> | undefined {
    const confirmed = address === undefined ? undefined : this.confirmAt(address, name);
    return confirmed?.then((isMaster) => {
      if (!isMaster) this.unconfirmed();
      return isMaster;
    });
  }

  /** The same for a message of a certain node on a channel. */
  confirmAt(address: string, name: string): Promise<boolean> | undefined {
    if (this.hasLeft(hashSlot(name), address)) return Promise.resolve(false);
    let mastership = this.masterships.get(address);
    if (mastership === undefined) {
      mastership = new Mastership((asked) => this.isStillMaster(address, asked));
      this.masterships.set(address, mastership);
    }
    return mastership.confirm(name);
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
   * each frozen one. So it is asked only when the others agree that the slots have moved, or when no master answers.
   */
  async examine(): Promise<void> {
    const masters = this.masters();
    const silent = masters.filter(({ client }) => this.asked.has(client));
    const others = masters.filter(({ client }) => !this.asked.has(client));
    const longAgo = performance.now() - DOUBT;
    if (others.length === 0 && silent.every(({ client }) => this.asked.get(client)! <= longAgo)) void this.refresh();
    const round = ++this.round;
    const replies = (await Promise.all(others.map(({ client }) => this.slotsOf(client)))).filter(
      (reply) => reply !== undefined,
    );
    if (replies.length === 0 || round < this.finished) return;
    this.finished = round;
    const isMaster = ({ address }: ClusterNode): boolean =>
      replies.some((reply) => reply.some((range) => range.address === address));
    const isKnown = ({ start, address }: SlotOwner): boolean => this.cluster.slots[start]?.[0] === address;
    const replaced = silent.filter((node) => !isMaster(node));
    for (const { client } of replaced) {
      // Until then, ioredis would ask this node for the slots, too.
      client.once('end', () => void this.refresh());
      client.disconnect();
      client.stream?.destroy();
    }
    if (replaced.length === 0 && !replies.some((reply) => reply.every(isKnown))) void this.refresh();
  }

  /**
   * Asks the replicas of a master who has a slot: only one of them can have taken over, and it knows at once. Other masters
   * learn that later. They are asked for a key, and redirect to the master of its slot. Half of them are enough if the
   * replicas do not answer. If no node answers in time, the node counts as master.
   */
  private async isStillMaster(address: string, name: string): Promise<boolean> {
    const slot = hashSlot(name);
    const others = this.masters().filter((node) => node.address !== address);
    const isReady = ({ client }: ClusterNode): number => Number(client.status === 'ready');
    const witnesses = others.sort((one, other) => isReady(other) - isReady(one)).slice(0, WITNESSES);
    const replicas = this.replicasOf(slot);
    const owner = await new Promise<string | undefined>((resolve) => {
      const timer = setReadingTimer(ANSWER_WITHIN, () => resolve(undefined));
      const agrees = async (answer: Promise<string | undefined>): Promise<boolean> => {
        const named = await answer;
        if (named !== undefined && named !== address) resolve(named);
        return named === address;
      };
      const byReplicas = Promise.all(replicas.map((client) => agrees(this.namedBy(client, slot)))).then((agree) => {
        if (agree.length > 0 && agree.every(Boolean)) resolve(address);
      });
      let agree = 0;
      const byMasters = witnesses.map(async (node) => {
        if (await agrees(this.redirection(node, name))) agree += 1;
        if (2 * agree < witnesses.length) return;
        await byReplicas;
        resolve(address);
      });
      void Promise.all([byReplicas, ...byMasters]).then(() => {
        clearReadingTimer(timer);
        resolve(undefined);
      });
    });
    if (owner === undefined || owner === address) return true;
    const { slots } = this.cluster;
    const served = new Set([...slots.keys()].filter((slot) => this.isOwner(address, slot)));
    slots[slot] = [owner];
    this.replaced(served, this.refresh());
    return false;
  }

  /** The master of a key, as another node says; `undefined` if it does not answer. */
  private async redirection({ address, client }: ClusterNode, name: string): Promise<string | undefined> {
    try {
      await client.call('EXISTS', name);
      return address;
    } catch (error) {
      const [, host, port] = /^MOVED \d+ (.+):(\d+)$/.exec((error as Error).message) ?? [];
      return host === undefined ? undefined : this.addressOf([host, Number(port)]);
    }
  }

  /** The master of a slot, as a replica reports it; `undefined` if it does not. */
  private async namedBy(replica: Redis, slot: number): Promise<string | undefined> {
    const ranges = await this.slotsOf(replica);
    return ranges?.find(({ start, end }) => start <= slot && slot <= end)?.address;
  }

  /** The replicas of the master of a slot, without a replica that has not answered an earlier question yet. */
  private replicasOf(slot: number): Redis[] {
    const addresses = this.cluster.slots[slot]?.slice(1) ?? [];
    return this.cluster
      .nodes('slave')
      .filter((client) => addresses.includes(addressOf(client)) && !this.asked.has(client));
  }

  /** The masters of the slots, as a node reports them; `undefined` if it does not. */
  private async slotsOf(client: Redis): Promise<SlotOwner[] | undefined> {
    this.asked.set(client, performance.now());
    try {
      const ranges: SlotRange[] = await client.cluster('SLOTS');
      // A node that does not know its own address reports none.
      if (!ranges.every(([, , master]) => master?.[0])) return undefined;
      return ranges.map(([start, end, master]) => ({ start, end, address: this.addressOf(master) }));
    } catch {
      return undefined;
    } finally {
      this.asked.delete(client);
    }
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
    return this.cluster.nodes('master').map((client) => ({ address: addressOf(client), client }));
  }
}

/** `host:port`, as ioredis names a node. */
const addressOf = ({ options: { host, port } }: Redis): string => `${host}:${port}`;

/** An entry of the reply to CLUSTER SLOTS: the master comes first. */
type SlotRange = readonly [start: number, end: number, ...nodes: ReportedNode[]];
/** The first and the last slot of a range, and the master that serves the range. */
interface SlotOwner {
  readonly start: number;
  readonly end: number;
  readonly address: string;
}
type ReportedNode = readonly [host: string, port: number, ...more: unknown[]];

export interface ClusterNode {
  /** `host:port`, as ioredis names it. */
  readonly address: string;
  /** The client's own connection to the node, to be duplicated. */
  readonly client: Redis;
}
