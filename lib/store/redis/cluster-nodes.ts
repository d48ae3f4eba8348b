import { failureOf, gatherWithin, repliesOf, type Answers } from '../../common/answers.js';
import { pause } from '../../common/reading-timer.js';
import { hashSlot } from '../../keys/index.js';
import { retryDelay } from './connection-options.js';
import type { Masters } from './connection.js';
import { LastingLine } from './lasting-line.js';
import {
  addressOf,
  askOnce,
  byAddress,
  type Commands,
  type Line,
  type Lines,
  type SentScript,
  type ServerAddress,
} from './line.js';
import { Mastership } from './mastership.js';
import { namesOf } from './script-call.js';
import { nodeId } from './server-identity.js';
import type { ClusterTarget, Server, Servers, ServersObserver } from './servers.js';
import { isAnswer } from './store-failure.js';

/** How many other masters are asked whether one is still the master of a slot, and for how many ms. */
const WITNESSES = 3;
const ANSWER_WITHIN = 250;
/** After how many ms without an answer another node is asked for the slots, and how long the last one may take. */
const STAGGER = 100;
const PATIENCE = 1_000;
/** How often, in ms, a client reads the slots again that has learned of no change. */
const PERIOD = 5_000;
const SLOTS = 16_384;
/** After how many ms a command is sent again that a node cannot execute yet, or whose connection has ended. */
const AGAIN = 100;
/** How many redirections are followed at once. Nodes may disagree, so later redirections are that far apart. */
const AT_ONCE = 3;
/** What a node says that cannot execute a command yet, or not name the node that can: its slot moves, or has no master. */
const NOT_YET = /^(TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|MOVED|ASK)\b/;
/** The name of a node if the Cluster prefers host names (`cluster-preferred-endpoint-type`), and this one has none yet. */
const UNKNOWN_NAME = '?';

export interface ClusterNode extends Server {
  readonly at: ServerAddress;
  readonly mastership: Mastership;
  /** Whether commands go to it. Other nodes are only asked who is a master. */
  isMaster: boolean;
}

/**
 * The masters of a Cluster, the slots that each of them serves, and a connection for commands to each. Sends each command to
 * the master of its slot.
 */
export class ClusterNodes implements Servers, Masters, Commands {
  readonly isCluster = true;
  readonly commands: Commands = this;
  readonly lines: Lines;
  readonly masters: Masters = this;
  /** The address of the master of each slot, as far as it is known. */
  private slots: Array<string | undefined> = [];
  /** The masters, the absent nodes, and the replicas that were asked, by address. */
  private readonly nodes = new Map<string, ClusterNode>();
  /** The nodes that were known last, with replicas: after an outage, all nodes that the user named may be gone. */
  private remembered: ReadonlyMap<string, ServerAddress> = new Map();
  private refreshing: Promise<void> | undefined;
  /** How many times in a row no node has answered. */
  private attempts = 0;
  private isUnreachable = false;
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;
  private shards: readonly Shard[] = [];
  /** Nodes that were known and are not named now: masters that were replaced, until they are replicas. */
  private absent: readonly ServerAddress[] = [];

  constructor(
    private readonly target: ClusterTarget,
    private readonly commandTimeout: number,
    private readonly observer: ServersObserver,
  ) {
    this.lines = target.lines;
  }

  get known(): ClusterNode[] {
    return [...this.nodes.values()].filter(({ isMaster }) => isMaster);
  }

  get isKnown(): boolean {
    return this.known.length > 0 && !this.isUnreachable;
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
    for (const { commands } of this.nodes.values()) commands.close();
  }

  /** The node that serves a slot. Without a slot: a random master, which answers if any does. */
  of(slot: number | undefined): ClusterNode | undefined {
    if (this.isOver) return undefined;
    if (slot === undefined) return promptFirst(this.known)[0];
    const node = this.nodes.get(this.slots[slot] ?? '');
    return node?.isMaster ? node : undefined;
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

  run(script: SentScript): void {
    const send = ({ commands }: ClusterNode, master: ClusterNode): Promise<unknown> => {
      script.master = master.address;
      return new Promise((answered, failed) => commands.run({ ...script, answered, failed }));
    };
    const reply = this.route(namesOf(script.keys)[0], send, script.keys.key === undefined);
    reply.then(
      (raw) => script.answered(raw),
      (error: Error) => script.failed(error),
    );
  }

  /** The key is the first argument. */
  send(command: string, ...args: ReadonlyArray<string | number>): Promise<unknown> {
    const key = args[0] === undefined ? undefined : String(args[0]);
    return this.route(key, ({ commands }) => commands.send(command, ...args));
  }

  /**
   * Sends a command to the master of its slot, and follows redirections. Sends it again if its reply was lost, or if the
   * Cluster cannot serve the slot, for at most `commandTimeout`. `isDivisible`: the caller sends it in parts if some of its keys
   * have moved and others have not.
   */
  private async route(
    key: string | undefined,
    send: (node: ClusterNode, master: ClusterNode) => Promise<unknown>,
    isDivisible = false,
  ): Promise<unknown> {
    const slot = key === undefined ? undefined : hashSlot(key);
    const until = performance.now() + this.commandTimeout;
    const isOver = (): boolean => this.isOver || performance.now() >= until;
    let redirected: ReturnType<ClusterNodes['redirection']>;
    for (let redirections = 0; ;) {
      const node = redirected?.node ?? this.of(slot);
      try {
        if (node === undefined) throw new Error('CLUSTERDOWN no node is known to serve the slot');
        // If the connection breaks, this reply is lost together with the next one.
        if (redirected?.master) node.commands.send('ASKING').catch(() => undefined);
        return await send(node, redirected?.master ?? node);
      } catch (error) {
        const why = error as Error;
        if (isOver()) throw why;
        redirected = node && this.redirection(why.message, node);
        if (redirected !== undefined && ++redirections <= AT_ONCE) continue;
        const isFinal = !NOT_YET.test(why.message) || (isDivisible && why.message.startsWith('TRYAGAIN'));
        if (redirected === undefined && isAnswer(why) && isFinal) throw why;
        if (node === undefined) await this.refresh();
        if (node !== undefined || this.of(slot) === undefined) await pause(AGAIN);
        if (isOver()) throw why;
      }
    }
  }

  /**
   * The node to which another one redirects a command. `MOVED` is about its slot. `ASK` is about this command only: the other one is
   * still the `master` of the slot.
   */
  private redirection(answer: string, from: ClusterNode): { node: ClusterNode; master?: ClusterNode } | undefined {
    const [, word, slot, host, port] = /^(MOVED|ASK) (\d+) (.*):(\d+)$/.exec(answer) ?? [];
    if (port === undefined) return undefined;
    if (host === UNKNOWN_NAME) return void this.refresh();
    const node = this.master(this.locate(host, Number(port), from.at.host));
    if (word === 'ASK') return { node, master: from };
    this.slots[Number(slot)] = node.address;
    void this.refresh();
    return { node };
  }

  /**
   * Asks one node after the other for the masters of the slots, until one answers. A node that is frozen or cut off cannot
   * report that it has lost its slots. The other nodes can.
   */
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
    const isWhole = (sofar: Answers<SlotMap>): boolean => repliesOf(sofar).some(({ size }) => size === SLOTS);
    const asked: Array<Promise<SlotMap>> = [];
    for await (const ask of this.candidates(giveUp.signal)) {
      asked.push(ask());
      if (isWhole(await gatherWithin(STAGGER, asked, (sofar) => isWhole(sofar) || sofar.at(-1) !== undefined))) break;
    }
    const answers = await gatherWithin(PATIENCE, asked, isWhole);
    giveUp.abort();
    if (this.isOver) return true;
    const [largest] = repliesOf(answers).sort((one, other) => other.size - one.size);
    if (largest !== undefined) {
      this.adopt(largest);
      return true;
    }
    const failure = await failureOf(asked);
    if (this.isOver) return true;
    this.attempts += 1;
    // A node that is slow to answer may still serve.
    this.isUnreachable ||= !answers.includes(undefined) || !this.known.some(({ commands }) => commands.isReady);
    if (this.isUnreachable) {
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
    const others = [shuffled([...this.remembered.values()]), this.target.named().then(shuffled, () => [])];
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
  private async slotsOf(node: Pick<Commands, 'send'>, host: string): Promise<SlotMap> {
    const ranges = (await node.send('CLUSTER', 'SLOTS')) as SlotRange[];
    if (!Array.isArray(ranges) || ranges.length === 0) throw new Error(`the node at ${host} knows of no slots`);
    const slots = new Array<string | undefined>(SLOTS);
    let size = 0;
    const shards = ranges.map(([start, end, ...nodes]) => {
      const shard = nodes.map(([named, port, , more]) =>
        this.locate(named === UNKNOWN_NAME ? ipIn(more) : named, port, host),
      );
      slots.fill(addressOf(shard[0]!), start, end + 1);
      size += end - start + 1;
      return shard;
    });
    return { slots, size, shards };
  }

  /** Uses the masters that a node has named, and leaves the others. */
  private adopt({ slots, shards }: SlotMap): void {
    this.attempts = 0;
    this.isUnreachable = false;
    this.slots = slots;
    this.shards = shards;
    const known = byAddress(shards.flat());
    const masters = byAddress(shards.map(([master]) => master!));
    // The list may lack nodes that are down. They are dropped only when as many others have taken their places.
    if (known.size >= this.remembered.size) this.remembered = known;
    this.absent = [...this.remembered.values()].filter((at) => !known.has(addressOf(at)));
    for (const [address, node] of this.nodes) {
      if (node.isMaster ? masters.has(address) : known.has(address) || this.remembered.has(address)) continue;
      this.nodes.delete(address);
      node.commands.close();
    }
    for (const at of this.absent) this.nodeAt(at);
    // Replicas are connected if they were asked who is a master.
    const hasPromoted = [...this.nodes.values()].some(
      ({ address, isMaster, commands }) => !isMaster && masters.has(address) && commands.isReady,
    );
    for (const at of masters.values()) this.master(at);
    this.observer.reached(hasPromoted);
  }

  /**
   * Asks the replicas of the master: only one of them can have taken over, and it knows at once. Other masters learn that
   * later. Half of them are enough if the replicas do not answer. If no node answers in time, the node counts as master.
   */
  private async isStillMaster(address: string, slot: number): Promise<boolean> {
    const [, ...followers] = this.shards.find(([master]) => addressOf(master!) === address) ?? [];
    const replicas = followers.map((at) => this.nodeAt(at));
    replicas.push(...this.absent.map((at) => this.nodeAt(at)).filter(({ commands }) => commands.isReady));
    const witnesses = promptFirst(this.known.filter((node) => node.address !== address)).slice(0, WITNESSES);
    const asked = [...replicas, ...witnesses].map(
      async ({ commands, at }) => (await this.slotsOf(commands, at.host)).slots[slot] ?? null,
    );
    const agree = (answers: Answers<unknown>): number => repliesOf(answers).filter((named) => named === address).length;
    const denial = (answers: Answers<string | null>): string | undefined =>
      repliesOf(answers).find((named): named is string => named !== null && named !== address);
    const answers = await gatherWithin(ANSWER_WITHIN, asked, (sofar) => {
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

  /** A node that does not know its own address is where it was asked. */
  private locate(host: string | null | undefined, port: number, asked: string): ServerAddress {
    return this.target.resolveNat({ host: host || asked, port });
  }

  private master(at: ServerAddress): ClusterNode {
    const node = this.nodeAt(at);
    node.isMaster = true;
    return node;
  }

  private nodeAt(at: ServerAddress): ClusterNode {
    const address = addressOf(at);
    const known = this.nodes.get(address);
    if (known !== undefined) return known;
    const observer = {
      ready: (): void => {
        if (node.isMaster) this.observer.reached(true);
      },
      ended: (error: Error | undefined, wasReady: boolean): void => {
        if (!node.isMaster) return;
        this.observer.ended(error, wasReady);
        void this.refresh();
      },
    };
    const commands = new LastingLine(this.lines, observer, { find: async () => at });
    const mastership = new Mastership((name) => this.isStillMaster(address, hashSlot(name)));
    const node: ClusterNode = { address, at, commands, mastership, isMaster: false };
    this.nodes.set(address, node);
    commands.open();
    return node;
  }
}

/** What one node has reported. */
interface SlotMap {
  /** The address of the master of each slot. */
  readonly slots: Array<string | undefined>;
  /** How many slots have a master. */
  readonly size: number;
  readonly shards: readonly Shard[];
}

/** The nodes of some slots: the master comes first. */
type Shard = readonly ServerAddress[];

/** An entry of the reply to CLUSTER SLOTS. */
type SlotRange = readonly [start: number, end: number, ...nodes: ReportedNode[]];
type ReportedNode = readonly [host: string | null, port: number, ...more: unknown[]];

/** The IP address among further facts about a node: a list of names and values, or a map in RESP3. */
function ipIn(facts: unknown): string | undefined {
  if (!Array.isArray(facts)) return (facts as { readonly ip?: string } | undefined)?.ip;
  return facts.includes('ip') ? String(facts[facts.indexOf('ip') + 1]) : undefined;
}

/** A random order of nodes, in which the ones come last that are not connected or owe an answer. */
function promptFirst(nodes: readonly ClusterNode[]): ClusterNode[] {
  const isLate = ({ commands }: ClusterNode): number => Number(!commands.isReady || commands.owing > STAGGER);
  return shuffled(nodes).sort((one, other) => isLate(one) - isLate(other));
}

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((each) => [Math.random(), each] as const)
    .sort(([one], [other]) => one - other)
    .map(([, each]) => each);
}
