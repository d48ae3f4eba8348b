import { pause } from '../../common/reading-timer.js';
import { hashSlot } from '../../keys/index.js';
import { ClusterRouter } from './cluster-router.js';
import { retryDelay } from './connection-options.js';
import type { Masters } from './connection.js';
import { gather, given, type Answers } from './gather.js';
import { LastingLine, type LastingLineObserver } from './lasting-line.js';
import { addressOf, askOnce, type Commands, type Line, type Lines, type ServerAddress } from './line.js';
import { Mastership } from './mastership.js';
import { nodeId } from './server-identity.js';
import type { Server, Servers, ServersObserver } from './servers.js';

/** How many other masters are asked whether one is still the master of a slot, and for how many ms. */
const WITNESSES = 3;
const ANSWER_WITHIN = 250;
/** After how many ms without an answer another node is asked for the slots, and how long the last one may take. */
const STAGGER = 100;
const PATIENCE = 1_000;
/** How often, in ms, a client reads the slots again that has learned of no change. */
const PERIOD = 5_000;
const SLOTS = 16_384;

/** How a client reaches the nodes of a Cluster. */
export interface ClusterTarget {
  readonly lines: Lines;
  /** Finds the nodes that the user named. */
  readonly named: () => Promise<ServerAddress[]>;
  /** The address at which a node can be reached, given the address that a node has named. */
  readonly resolveNat: (address: ServerAddress) => ServerAddress;
}

export interface ClusterNode extends Server {
  readonly at: ServerAddress;
  readonly mastership: Mastership;
}

/** The masters of a Cluster, the slots that each of them serves, and a connection for commands to each. */
export class ClusterNodes implements Servers, Masters {
  readonly isCluster = true;
  readonly commands: ClusterRouter;
  readonly lines: Lines;
  readonly masters: Masters = this;
  /** The address of the master of each slot, as far as it is known. */
  private slots: Array<string | undefined> = [];
  private readonly nodes = new Map<string, ClusterNode>();
  /** The nodes that were known last, with replicas: after an outage, all nodes that the user named may be gone. */
  private remembered: readonly ServerAddress[] = [];
  private refreshing: Promise<void> | undefined;
  /** How many times in a row no node has answered. */
  private attempts = 0;
  private isUnreachable = false;
  private timer: NodeJS.Timeout | undefined;
  isOver = false;
  /** The replicas of each master, by its address. */
  private replicas: ReadonlyMap<string, readonly ServerAddress[]> = new Map();
  /** Nodes that were known and are not named now: masters that were replaced, until they are replicas. */
  private absent: readonly ServerAddress[] = [];
  /** The connections to absent nodes, and to the replicas that were asked, by address. */
  private readonly followers = new Map<string, ClusterNode>();

  constructor(
    private readonly target: ClusterTarget,
    commandTimeout: number,
    private readonly observer: ServersObserver,
  ) {
    this.lines = target.lines;
    this.commands = new ClusterRouter(this, commandTimeout);
  }

  get known(): ClusterNode[] {
    return [...this.nodes.values()];
  }

  get isKnown(): boolean {
    return this.nodes.size > 0 && !this.isUnreachable;
  }

  get isAsking(): boolean {
    for (const { mastership } of this.nodes.values()) if (mastership.isAsking) return true;
    return false;
  }

  open(): void {
    if (this.timer !== undefined || this.isOver) return;
    this.timer = setInterval(() => void this.refresh(), PERIOD).unref();
    void this.refresh();
  }

  close(): void {
    this.isOver = true;
    clearInterval(this.timer);
    for (const { commands } of [...this.nodes.values(), ...this.followers.values()]) commands.close();
  }

  /** A node that is frozen or cut off cannot report that it has lost its slots. The other nodes can. */
  doubt(): void {
    void this.refresh();
  }

  /** The node that serves a slot, or a random master. */
  of(slot: number | undefined): ClusterNode | undefined {
    if (this.isOver) return undefined;
    if (slot === undefined) return shuffled(this.known)[0];
    return this.nodes.get(this.slots[slot] ?? '');
  }

  has(server: Server): boolean {
    return this.nodes.get(server.address) === server;
  }

  hasLeft(slot: number | undefined, { address }: Pick<Server, 'address'>): boolean {
    const owner = slot === undefined ? undefined : this.slots[slot];
    return owner !== undefined && owner !== address;
  }

  identify(line: Line): Promise<string | undefined> {
    return nodeId(line);
  }

  confirm(name: string, address = this.slots[hashSlot(name)]): Promise<boolean> | undefined {
    if (address === undefined) return undefined;
    const hasLeft = this.hasLeft(hashSlot(name), { address });
    const confirmed = hasLeft ? Promise.resolve(false) : this.nodes.get(address)?.mastership.confirm(name);
    return confirmed?.then((isMaster) => {
      if (!isMaster) this.observer.unconfirmed();
      return isMaster;
    });
  }

  /** The node to which another one redirects. It may be a new one. `from`: the node that has named it. */
  redirectedTo(named: string, from: ClusterNode): ClusterNode {
    const [, host, port] = /^(.*):(\d+)$/.exec(named)!;
    return this.reach(this.locate(host, Number(port), from.at.host));
  }

  /** A node has redirected a command: the slot has another master. */
  moved(slot: number, { address }: ClusterNode): void {
    this.slots[slot] = address;
    void this.refresh();
  }

  /** Asks one node after the other for the masters of the slots, until one answers. Never rejects. */
  refresh(): Promise<void> {
    if (this.isOver) return Promise.resolve();
    this.refreshing ??= this.learn().then((isLearned) => {
      this.refreshing = undefined;
      if (!isLearned) void this.refresh();
    });
    return this.refreshing;
  }

  /** Resolves to whether a node has answered. */
  private async learn(): Promise<boolean> {
    if (this.attempts > 0) await pause(retryDelay(this.attempts));
    if (this.isOver) return true;
    const giveUp = new AbortController();
    const isWhole = (sofar: Answers<SlotMap>): boolean => given(sofar).some(({ size }) => size === SLOTS);
    const asked: Array<Promise<SlotMap>> = [];
    for await (const ask of this.candidates(giveUp.signal)) {
      asked.push(ask());
      if (isWhole(await gather(asked, STAGGER, (sofar) => isWhole(sofar) || sofar.at(-1) !== undefined))) break;
    }
    const answers = await gather(asked, PATIENCE, isWhole);
    giveUp.abort();
    if (this.isOver) return true;
    const [largest] = given(answers).sort((one, other) => other.size - one.size);
    if (largest !== undefined) {
      this.adopt(largest);
      return true;
    }
    this.attempts += 1;
    // A node that is slow to answer may still serve.
    this.isUnreachable ||= !answers.includes(undefined) || !this.known.some(({ commands }) => commands.isReady);
    if (this.isUnreachable) {
      const failure = answers.find((answer) => answer?.error !== undefined)?.error;
      this.observer.unreachable(failure ?? new Error('no node of the Cluster has answered'));
    }
    return false;
  }

  /** The nodes to ask: the masters, those first that answer, then the other nodes that are known or were named. */
  private async *candidates(signal: AbortSignal): AsyncGenerator<() => Promise<SlotMap>> {
    const seen = new Set<string>();
    for (const { address, at, commands } of promptFirst(this.known)) {
      seen.add(address);
      yield () => this.slotsOf(commands, at.host);
    }
    const others = [shuffled(this.remembered), this.target.named().then(shuffled, () => [])];
    for (const list of others) {
      for (const at of await list) {
        const address = addressOf(at);
        if (seen.has(address)) continue;
        seen.add(address);
        yield () => askOnce(this.target.lines, at, signal, (line) => this.slotsOf(line, at.host));
      }
    }
  }

  /** Reads which master serves which slots, as a node names them. Throws if it names none. */
  private async slotsOf(node: Commands, host: string): Promise<SlotMap> {
    const ranges = (await node.send('CLUSTER', 'SLOTS')) as SlotRange[];
    if (!Array.isArray(ranges) || ranges.length === 0) throw new Error(`the node at ${host} knows of no slots`);
    const known = new Map<string, ServerAddress>();
    const replicas = new Map<string, ServerAddress[]>();
    const slots: string[] = [];
    let size = 0;
    for (const [start, end, ...nodes] of ranges) {
      const all = nodes.map(([named, port]) => this.locate(named, port, host));
      for (const at of all) known.set(addressOf(at), at);
      const master = addressOf(all[0]!);
      replicas.set(master, all.slice(1));
      size += end - start + 1;
      for (let slot = start; slot <= end; slot++) slots[slot] = master;
    }
    return { slots, size, known, replicas };
  }

  /** Uses the masters that a node has named, and leaves the others. */
  private adopt({ slots, known, replicas }: SlotMap): void {
    this.attempts = 0;
    this.isUnreachable = false;
    this.slots = slots;
    this.replicas = replicas;
    const masters = new Set(slots);
    // The list may lack nodes that are down. They are dropped only when as many others have taken their places.
    if (known.size >= this.remembered.length) this.remembered = [...known.values()];
    this.absent = this.remembered.filter((at) => !known.has(addressOf(at)));
    for (const at of this.absent) this.follower(at);
    const others = new Set([...known.keys(), ...this.absent.map(addressOf)].filter((each) => !masters.has(each)));
    leaveOthers(this.nodes, masters);
    leaveOthers(this.followers, others);
    for (const address of masters) if (address !== undefined) this.reach(known.get(address)!);
    this.observer.reached();
  }

  /**
   * Asks the replicas of the master: only one of them can have taken over, and it knows at once. Other masters learn that
   * later. Half of them are enough if the replicas do not answer. If no node answers in time, the node counts as master.
   */
  private async isStillMaster(address: string, slot: number): Promise<boolean> {
    const replicas = (this.replicas.get(address) ?? []).map((at) => this.follower(at));
    for (const at of this.absent) if (this.follower(at).commands.isReady) replicas.push(this.follower(at));
    const witnesses = promptFirst(this.known.filter((node) => node.address !== address)).slice(0, WITNESSES);
    const asked = [...replicas, ...witnesses].map(
      async ({ commands, at }) => (await this.slotsOf(commands, at.host)).slots[slot],
    );
    const agree = (answers: Answers<unknown>): number => given(answers).filter((named) => named === address).length;
    const denial = (answers: Answers<string | undefined>): string | undefined =>
      given(answers).find((named) => named !== undefined && named !== address);
    const answers = await gather(asked, ANSWER_WITHIN, (sofar) => {
      if (denial(sofar) !== undefined) return true;
      const [first, rest] = [sofar.slice(0, replicas.length), sofar.slice(replicas.length)];
      if (first.includes(undefined)) return false;
      return (first.length > 0 && agree(first) === first.length) || 2 * agree(rest) >= rest.length;
    });
    const owner = denial(answers);
    if (owner === undefined) return true;
    const before = this.slots;
    this.slots = [...before];
    this.slots[slot] = owner;
    void this.refresh().then(() => this.observer.replaced((name) => before[hashSlot(name)] === address));
    return false;
  }

  /** The connection to a node that is no master. */
  private follower(at: ServerAddress): ClusterNode {
    return this.connected(this.followers, at);
  }

  /** A node that does not know its own address is where it was asked. */
  private locate(host: string | null | undefined, port: number, asked: string): ServerAddress {
    return this.target.resolveNat({ host: host || asked, port });
  }

  private reach(at: ServerAddress): ClusterNode {
    const address = addressOf(at);
    return this.connected(this.nodes, at, {
      ready: () => this.observer.reached(),
      ended: (error) => {
        this.observer.ended(error, (name) => this.slots[hashSlot(name)] === address);
        void this.refresh();
      },
    });
  }

  private connected(
    nodes: Map<string, ClusterNode>,
    at: ServerAddress,
    observer: LastingLineObserver = {},
  ): ClusterNode {
    const address = addressOf(at);
    let node = nodes.get(address);
    if (node === undefined) {
      const commands = new LastingLine(this.lines, observer, { waits: true, find: async () => at });
      const mastership = new Mastership((name) => this.isStillMaster(address, hashSlot(name)));
      nodes.set(address, (node = { address, at, commands, mastership }));
      commands.open();
    }
    return node;
  }
}

/** What one node has reported. */
interface SlotMap {
  /** The address of the master of each slot. */
  readonly slots: string[];
  /** How many slots have a master. */
  readonly size: number;
  /** All nodes, by address. */
  readonly known: ReadonlyMap<string, ServerAddress>;
  /** The replicas of each master, by its address. */
  readonly replicas: ReadonlyMap<string, readonly ServerAddress[]>;
}

/** An entry of the reply to CLUSTER SLOTS: the master comes first. */
type SlotRange = readonly [start: number, end: number, master: ReportedNode, ...replicas: ReportedNode[]];
type ReportedNode = readonly [host: string | null, port: number, ...more: unknown[]];

/** A random order of nodes, in which the ones come last that are not connected or owe an answer. */
function promptFirst(nodes: readonly ClusterNode[]): ClusterNode[] {
  const isLate = ({ commands }: ClusterNode): number => Number(!commands.isReady || commands.owing > STAGGER);
  return shuffled(nodes).sort((one, other) => isLate(one) - isLate(other));
}

function leaveOthers(nodes: Map<string, ClusterNode>, used: ReadonlySet<string | undefined>): void {
  for (const [address, { commands }] of nodes) {
    if (used.has(address)) continue;
    nodes.delete(address);
    commands.close();
  }
}

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((each) => [Math.random(), each] as const)
    .sort(([one], [other]) => one - other)
    .map(([, each]) => each);
}
