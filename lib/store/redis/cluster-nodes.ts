import { clearReadingTimer, setReadingTimer } from '../../common/reading-timer.js';
import { hashSlot } from '../../keys/index.js';
import { retryDelay } from './connection-options.js';
import { LastingLine, type LastingLineObserver } from './lasting-line.js';
import { addressOf, askOnce, type Commands, type Lines, type ServerAddress } from './line.js';
import { Mastership } from './mastership.js';

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

export interface ClusterNode {
  /** `host:port` */
  readonly address: string;
  readonly at: ServerAddress;
  readonly commands: LastingLine;
}

export interface ClusterNodesObserver {
  /** A node has named the masters of the slots. */
  refreshed(): void;
  /** No node has answered. */
  unreachable(error: Error): void;
  ready(address: string): void;
  ended(address: string, error: Error | undefined): void;
  /** A master turns out to be replaced. `served`: its slots; `refreshed`: when the new masters are known. */
  replaced(served: ReadonlySet<number>, refreshed: Promise<void>): void;
  /** A reply does not count, so the command is sent again. It may have been executed. */
  unconfirmed(): void;
}

/** The masters of a Cluster, the slots that each of them serves, and a connection for commands to each. */
export class ClusterNodes {
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
  private isClosed = false;
  /** The masters that have not answered `examine` yet. */
  private readonly asked = new Set<ClusterNode>();
  /** The number of the latest `examine`, and of the latest one whose masters have all answered. */
  private round = 0;
  private finished = 0;
  /** The replicas of each master, by its address. */
  private replicas: ReadonlyMap<string, readonly ServerAddress[]> = new Map();
  /** Nodes that were known and are not named now: masters that were replaced, until they are replicas. */
  private absent: readonly ServerAddress[] = [];
  /** The connections to absent nodes, and to the replicas that were asked, by address. */
  private readonly followers = new Map<string, ClusterNode>();
  /** By address. */
  private readonly masterships = new Map<string, Mastership>();

  constructor(
    readonly target: ClusterTarget,
    private readonly observer: ClusterNodesObserver,
  ) {}

  /** Whether a node has named the masters, and nodes have answered since. */
  get isKnown(): boolean {
    return this.nodes.size > 0 && !this.isUnreachable;
  }

  get isOver(): boolean {
    return this.isClosed;
  }

  get masters(): ClusterNode[] {
    return [...this.nodes.values()];
  }

  open(): void {
    if (this.timer !== undefined || this.isClosed) return;
    this.timer = setInterval(() => void this.refresh(), PERIOD).unref();
    void this.refresh();
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    for (const { commands } of [...this.nodes.values(), ...this.followers.values()]) commands.close();
  }

  /** The node that serves a slot; `undefined` if that is not known at the moment. */
  ownerOf(slot: number): ClusterNode | undefined {
    return this.nodes.get(this.slots[slot] ?? '');
  }

  /** Whether another node than this one is known to serve a slot. */
  hasLeft(slot: number, address: string): boolean {
    const owner = this.slots[slot];
    return owner !== undefined && owner !== address;
  }

  /** Whether this node, which may be away, is known as the master of a slot. */
  isOwner(address: string, slot: number): boolean {
    return this.slots[slot] === address;
  }

  /** Whether others are asked about a master now. */
  get isAsking(): boolean {
    return [...this.masterships.values()].some(({ isAsking }) => isAsking);
  }

  confirm(name: string, address = this.slots[hashSlot(name)]): Promise<boolean> | undefined {
    const confirmed = address === undefined ? undefined : this.confirmAt(address, name);
    return confirmed?.then((isMaster) => {
      if (!isMaster) this.observer.unconfirmed();
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

  /** A random master. */
  any(): ClusterNode | undefined {
    const { masters } = this;
    return masters[Math.floor(Math.random() * masters.length)];
  }

  has(address: string): boolean {
    return this.nodes.has(address);
  }

  /** Sends a PING to a node on its connection for commands. Rejects if there is none. */
  async ping(address: string): Promise<void> {
    const node = this.nodes.get(address);
    if (node === undefined) throw new Error(`${address} is no longer a master`);
    await node.commands.send('PING');
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
    if (this.isClosed) return Promise.resolve();
    this.refreshing ??= this.learn().then((isLearned) => {
      this.refreshing = undefined;
      if (!isLearned) void this.refresh();
    });
    return this.refreshing;
  }

  /**
   * Asks all masters for the masters of the slots, except the ones that still owe such an answer. If all answers name other
   * masters than are known, most of them are right, and the client leaves the silent ones.
   */
  async examine(): Promise<void> {
    const others = this.masters.filter((node) => !this.asked.has(node));
    if (others.length === 0) return void this.refresh();
    const round = ++this.round;
    const ask = async (node: ClusterNode): Promise<SlotMap | undefined> => {
      this.asked.add(node);
      try {
        return await this.slotsOf(node.commands, node.at.host);
      } catch {
        return undefined;
      } finally {
        this.asked.delete(node);
      }
    };
    const replies = (await Promise.all(others.map(ask))).filter((reply) => reply !== undefined);
    if (replies.length === 0 || round < this.finished || this.isClosed) return;
    this.finished = round;
    if (replies.some(({ slots }) => slots.every((address, slot) => this.slots[slot] === address))) return;
    const namedBy = ({ text }: SlotMap): number => replies.filter((other) => other.text === text).length;
    this.adopt(replies.reduce((best, other) => (namedBy(other) > namedBy(best) ? other : best)));
  }

  /** Resolves to whether a node has answered. */
  private async learn(): Promise<boolean> {
    if (this.attempts > 0) await pause(retryDelay(this.attempts));
    if (this.isClosed) return true;
    const giveUp = new AbortController();
    let best: SlotMap | undefined;
    let failure = new Error('no node of the Cluster has answered');
    let complete!: () => void;
    const completed = new Promise<void>((resolve) => (complete = resolve));
    const asked: Array<Promise<void>> = [];
    let failures = 0;
    for await (const ask of this.candidates(giveUp.signal)) {
      const answered = ask().then(
        (map) => {
          if (best === undefined || map.size > best.size) best = map;
          if (map.size === SLOTS) complete();
        },
        (error: Error) => {
          failure = error;
          failures += 1;
        },
      );
      asked.push(answered);
      await Promise.race([answered, completed, pause(STAGGER)]);
      if (best?.size === SLOTS) break;
    }
    await Promise.race([Promise.all(asked), completed, pause(PATIENCE)]);
    giveUp.abort();
    if (this.isClosed) return true;
    if (best !== undefined) {
      this.adopt(best);
      return true;
    }
    this.attempts += 1;
    // A node that is slow to answer may still serve.
    this.isUnreachable ||= failures === asked.length || !this.masters.some(isReady);
    if (this.isUnreachable) this.observer.unreachable(failure);
    return false;
  }

  /** The nodes to ask: the masters, the connected ones first, then the other nodes that are known or were named. */
  private async *candidates(signal: AbortSignal): AsyncGenerator<() => Promise<SlotMap>> {
    const seen = new Set<string>();
    const masters = shuffled(this.masters);
    for (const { address, at, commands } of masters.sort((one, other) => isReady(other) - isReady(one))) {
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
      const addresses = nodes.map(([named, port]) => {
        const at = this.locate(named, port, host);
        known.set(addressOf(at), at);
        return addressOf(at);
      });
      replicas.set(
        addresses[0]!,
        addresses.slice(1).map((address) => known.get(address)!),
      );
      size += end - start + 1;
      for (let slot = start; slot <= end; slot++) slots[slot] = addresses[0]!;
    }
    const text = ranges.map(([start, end, [named, port]]) => `${start}-${end} ${named}:${port}`).sort();
    return { slots, size, known, replicas, text: text.join() };
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
    for (const at of this.absent) this.replica(at);
    const others = new Set(
      [...known.values(), ...this.absent].map(addressOf).filter((address) => !masters.has(address)),
    );
    for (const [address, { commands }] of this.followers) {
      if (others.has(address)) continue;
      this.followers.delete(address);
      commands.close();
    }
    for (const [address, node] of this.nodes) {
      if (masters.has(address)) continue;
      this.nodes.delete(address);
      node.commands.close();
    }
    for (const address of masters) if (address !== undefined) this.reach(known.get(address)!);
    this.observer.refreshed();
  }

  /**
   * Asks the replicas of the master: only one of them can have taken over, and it knows at once. Other masters learn that
   * later. They are asked for a key, and redirect to the master of its slot. Half of them are enough if the replicas do not
   * answer. If no node answers in time, the node counts as master.
   */
  private async isStillMaster(address: string, name: string): Promise<boolean> {
    const others = this.masters.filter((node) => node.address !== address);
    const witnesses = others.sort((one, other) => isReady(other) - isReady(one)).slice(0, WITNESSES);
    const absent = this.absent.map((at) => this.replica(at)).filter(({ commands }) => commands.isReady);
    const replicas = [...(this.replicas.get(address) ?? []).map((at) => this.replica(at)), ...absent];
    const owner = await new Promise<string | undefined>((resolve) => {
      const timer = setReadingTimer(ANSWER_WITHIN, () => resolve(undefined));
      const agrees = async (answer: Promise<string | undefined>): Promise<boolean> => {
        const named = await answer;
        if (named !== undefined && named !== address) resolve(named);
        return named === address;
      };
      const slot = hashSlot(name);
      const byReplicas = Promise.all(replicas.map((each) => agrees(this.namedBy(each, slot)))).then((agree) => {
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
    const served = new Set(
      Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => this.isOwner(address, slot)),
    );
    this.slots[hashSlot(name)] = owner;
    this.observer.replaced(served, this.refresh());
    return false;
  }

  /** The master of a key, as another node says; `undefined` if it does not answer. */
  private async redirection(node: ClusterNode, name: string): Promise<string | undefined> {
    try {
      await node.commands.send('EXISTS', name);
      return node.address;
    } catch (error) {
      const { to } = redirectionIn(error as Error) ?? {};
      return to === undefined ? undefined : this.redirectedTo(to, node).address;
    }
  }

  /** The master of a slot, as a replica says; `undefined` if it does not answer. */
  private async namedBy(replica: ClusterNode, slot: number): Promise<string | undefined> {
    try {
      return (await this.slotsOf(replica.commands, replica.at.host)).slots[slot];
    } catch {
      return undefined;
    }
  }

  /** The connection to a replica. */
  private replica(at: ServerAddress): ClusterNode {
    return this.connected(this.followers, at);
  }

  /** A node that does not know its own address is where it was asked. */
  private locate(host: string | null | undefined, port: number, asked: string): ServerAddress {
    return this.target.resolveNat({ host: host || asked, port });
  }

  private reach(at: ServerAddress): ClusterNode {
    const address = addressOf(at);
    return this.connected(this.nodes, at, {
      ready: () => this.observer.ready(address),
      ended: (error) => {
        this.observer.ended(address, error);
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
      const commands = new LastingLine(this.target.lines, observer, { waits: true, find: async () => at });
      nodes.set(address, (node = { address, at, commands }));
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
  /** The same for two nodes that report the same masters. */
  readonly text: string;
}

/** An entry of the reply to CLUSTER SLOTS: the master comes first. */
type SlotRange = readonly [start: number, end: number, master: ReportedNode, ...replicas: ReportedNode[]];
type ReportedNode = readonly [host: string | null, port: number, ...more: unknown[]];

/** The redirection in a refusal, such as `MOVED 42 10.0.0.1:6379`. */
export function redirectionIn({ message }: Error): { isAsk: boolean; slot: number; to: string } | undefined {
  const [, word, slot, to] = /^(MOVED|ASK) (\d+) (.*:\d+)$/.exec(message) ?? [];
  return to === undefined ? undefined : { isAsk: word === 'ASK', slot: Number(slot), to };
}

const isReady = ({ commands }: ClusterNode): number => Number(commands.isReady);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setReadingTimer(ms, resolve));

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((each) => [Math.random(), each] as const)
    .sort(([one], [other]) => one - other)
    .map(([, each]) => each);
}
