import { busChannel, clientChannel, redisKeys, shardChannel } from '../../../lib/keys/index.js';
import { SCRIPTS, type ScriptName } from '../../../lib/store/redis/scripts.generated.js';
import { replyError } from '../../testbed/proxies/resp-reader.mjs';
import { Violation } from '../checker/violation.js';
import { KeySpace } from '../redis/key-space.js';
import { textOf } from '../redis/scripts.js';
import { LockReader, READ_ROLES, type Hold, type LockImage } from '../redis/stored-lock.js';
import { KEYS } from '../schedule/schedule.js';
import { describeCall, hasMore, KEY_PREFIX, type Call } from './call.js';
import { WALL, type Machine } from './machine.js';

/** The scripts that may grant a lock, or change its queue. */
const CHANGING: ReadonlySet<ScriptName> = new Set<ScriptName>([
  ...(['acquire', 'acquireAll', 'release', 'handOver', 'setLimit', 'addLimit', 'keepUnits'] as const),
  ...(['reinstate', 'forceRelease'] as const),
]);

/** A lock before and after a script. */
export interface Change {
  readonly key: string;
  readonly before: LockImage;
  readonly after: LockImage;
}

/** A command that a server has executed. */
export interface ExecutedCall {
  readonly call: Call;
  /** The call in words. */
  readonly text: string;
  /** Another command of the client has to look at the rest of a long queue. */
  readonly hasMore: boolean;
  /** Of the locks whose queue or holds it may have changed. */
  readonly changes: readonly Change[];
  /** The messages that it published. */
  readonly messages: readonly string[];
}

/** The state of a key that a server is about to lose. */
export interface Loss {
  readonly key: string;
  readonly holds: readonly Hold[];
  /** The last fencing token, if that is lost, too. */
  readonly lastToken: number;
  /** From which life of the server on its answers tell of that; `Infinity`: they never do. */
  readonly life: number;
  readonly byForce: boolean;
}

/** The data of a replica: the state of its server at some moment. */
export interface Replica {
  readonly keys: KeySpace;
  /** Which life of the server it followed. */
  readonly life: number;
}

/** A Redis server of a world, which can be stopped, restarted and emptied, and has replicas. */
export class Server {
  /** Grows with each command that is executed. */
  version = 0;
  /** Every client that has a connection is notified when it is lost. */
  onRestart: Array<(downFor: number) => void> = [];
  /** The clients learn of the server that has taken its place within so many ms. */
  onReplaced: Array<(within: number) => void> = [];
  /** The server that has taken its place. It does not know yet, and may execute commands that have reached it. */
  successor: Server | undefined;
  /** The server whose place it has taken. */
  predecessor: Server | undefined;
  onScript: (executed: ExecutedCall) => void = () => undefined;
  /** Called before the loss. */
  onLoss: (loss: Loss) => void = () => undefined;
  /** A hold has its vote here again. */
  onReinstated: (key: string, id: string) => void = () => undefined;
  /** It could not execute something, which is a fault of this simulation or of a script. */
  onFailure: (error: Error) => void = () => undefined;
  /** Grows with each restart: messages that were on their way to an earlier life never arrive. */
  life = 0;
  /** Its id in a Cluster. */
  readonly node: string | undefined;
  private keys: KeySpace;
  /** The servers that forward sharded messages to each other. */
  private shard: ReadonlySet<Server> = new Set([this]);
  /** The hashes of the scripts that it knows in this life. */
  private readonly known = new Set<string>();
  private readonly subscribers = new Map<string, (message: string, channel: string) => void>();
  private readonly readers = new Map<string, LockReader>();
  private readonly looks = new Map<string, { version: number; at: number; lock: LockImage }>();

  constructor(
    readonly name: string,
    private readonly machine: Machine,
    /** Whole ms by which its clock is ahead. */
    private ahead: number,
    /** Decides the order in which it reads hashes. */
    private readonly noise: number,
    /** Whether the limits of its scripts are small. */
    private readonly hasSmallLimits: boolean,
    private readonly isInCluster: boolean,
  ) {
    this.node = isInCluster ? name.replace(' ', '-') : undefined;
    this.keys = new KeySpace(noise, this.node);
  }

  /** The reading of its clock, in ms. */
  get time(): number {
    return WALL + this.ahead + this.machine.now;
  }

  /** Does something as soon as the server runs, unless it has restarted by then. */
  do(work: () => void): void {
    const { life } = this;
    this.machine.do(() => {
      if (life !== this.life) return;
      try {
        work();
      } catch (error) {
        this.onFailure(error as Error);
      }
    });
  }

  /** Executes a command as soon as it runs; its reply is given to `answer`, an error as a value. */
  execute(call: Call, again: boolean, answer: (reply: unknown) => void): void {
    this.do(() => {
      const { reply, changes, messages } = this.reply(call);
      if (!isUnknown(reply)) {
        this.version += 1;
        const text = `${describeCall(call)}${again ? ', again' : ''}`;
        this.onScript({ call, text, hasMore: hasMore(call, reply), changes, messages });
      }
      answer(reply);
    });
  }

  subscribe(client: string, hear: (message: string, channel: string) => void): void {
    for (const channel of this.channelsOf(client)) {
      this.subscribers.set(channel, hear);
      this.keys.subscribed(channel, 1);
    }
  }

  unsubscribe(client: string): void {
    for (const channel of this.channelsOf(client)) {
      this.subscribers.delete(channel);
      this.keys.subscribed(channel, 0);
    }
  }

  freeze(ms: number): void {
    this.machine.stall(ms);
  }

  /** Restarts after `ms`, with its data or without. */
  restart(ms: number, keeps: boolean): void {
    if (!keeps) this.loseAll();
    this.comeBack(ms, keeps ? this.keys.copy(this.node) : new KeySpace(this.noise, this.node));
  }

  /** A replica that receives no writes from now on. */
  replica(): Replica {
    return { keys: this.keys.copy(this.node), life: this.life };
  }

  /** The replica takes over within `ms`; its clock is `ahead` ms (whole ones) ahead of that of the server before it. */
  failOver({ keys }: Replica, ms: number, ahead: number): void {
    this.loseAll();
    this.ahead += ahead;
    this.comeBack(ms, keys);
  }

  /**
   * A replica that has missed no write takes over while this server is frozen. When it thaws, it executes the commands that
   * have reached it, until it learns of the takeover. The clients learn of it within `ms`.
   */
  replace(name: string, ms: number): Server {
    const { machine, ahead, noise, hasSmallLimits, isInCluster } = this;
    const successor = new Server(name, machine.twin(), ahead, noise, hasSmallLimits, isInCluster);
    successor.keys.drop();
    successor.keys = this.keys.copy(successor.node);
    successor.life = this.life + 1;
    successor.version = this.version + 1;
    this.successor = successor;
    successor.predecessor = this;
    for (const server of [...this.shard, successor]) server.shard = new Set([...this.shard, successor]);
    for (const lead of this.onReplaced) lead(ms);
    return successor;
  }

  /** It has learned that it was replaced: it executes nothing any more. */
  retire(): void {
    this.machine.dead = true;
    for (const server of this.shard) server.shard = new Set([...this.shard].filter((each) => each !== this));
  }

  /**
   * A client relies on the reply to a young command, which this server may have executed although it was replaced. The docs
   * say that this is not covered: the holds that the command names are as good as lost.
   */
  countLost({ locks, args }: Call): void {
    const { successor } = this;
    for (const key of successor === undefined ? [] : locks) {
      const { holds, lastToken } = this.inspect(key);
      const named = holds.filter(({ id }) => args.includes(id));
      successor!.onLoss({ key, holds: named, lastToken, life: successor!.life, byForce: false });
    }
  }

  /** A release that was meant for another server is about to end a hold. */
  endUnasked({ locks: [key], args }: Call): void {
    this.endSome(key!, false, ({ id }) => id === args[1]);
  }

  /** A lock with all that its scripts go by; looked up once for each moment. */
  inspect(key: string): LockImage {
    const { version, machine } = this;
    let look = this.looks.get(key);
    if (look?.version !== version || look.at !== machine.now) {
      look = { version, at: machine.now, lock: this.reader(key).at(Math.floor(this.time)) };
      this.looks.set(key, look);
    }
    return look.lock;
  }

  /** Whether the client of an acquisition has subscribed. */
  isPresent(id: string): boolean {
    return this.subscribers.has(clientChannel(KEY_PREFIX, id.split(':')[0]!));
  }

  /** The names of all keys. */
  get names(): readonly string[] {
    return this.keys.names(this.micros);
  }

  /** The world's time when the lease of a hold ends. */
  endOf({ ends }: Hold): number {
    return this.machine.worldTime(ends - this.ahead - WALL);
  }

  /** The run is over. */
  close(): void {
    this.keys.drop();
  }

  private get micros(): number {
    return Math.floor(this.time * 1_000);
  }

  private reply(call: Call): Pick<ExecutedCall, 'changes' | 'messages'> & { readonly reply: unknown } {
    const [command, named] = call.words as [string, string];
    const nothing = { changes: [], messages: [] };
    if (command === 'INFO') {
      const id = `${this.name.replace(' ', '-')}-${this.life}`;
      return { ...nothing, reply: `run_id:${id}\r\nserver_time_usec:${this.micros}\r\ncluster_enabled:0\r\n` };
    }
    if (call.script === undefined && command.startsWith('EVAL')) throw new Error(`unknown script: ${named}`);
    if (call.script === undefined) return { ...nothing, reply: this.keys.command(this.micros, ...call.words).reply };
    const script = SCRIPTS[call.script];
    if (command === 'EVAL') this.known.add(script.sha1);
    else if (!this.known.has(script.sha1))
      return { ...nothing, reply: replyError('NOSCRIPT No matching script. Please use EVAL.') };
    this.foresee(call);
    const { script: name, locks, args } = call;
    const hadIt = name === 'reinstate' && this.has(locks[0]!, args[0]!);
    const images = CHANGING.has(name) ? locks.map((key) => this.inspect(key)) : [];
    const text = textOf(name, this.hasSmallLimits);
    const { reply, messages, fault } = this.keys.run(this.micros, text, call.keys, args);
    if (fault !== undefined) throw new Violation('leftovers', `${script.name} ${fault} (${this.name})`);
    if (reply instanceof Error)
      throw new Violation('unexpected', `${script.name} fails: ${reply.message} (${this.name})`);
    for (const key of locks) this.readers.delete(key);
    this.looks.clear();
    if (name === 'reinstate' && reply === 1 && !hadIt) this.onReinstated(locks[0]!, args[0]!);
    for (const { channel, message } of messages) {
      for (const server of this.shard) server.do(() => server.subscribers.get(channel)?.(message, channel));
    }
    const changes = images.map((before, i) => ({ key: locks[i]!, before, after: this.inspect(locks[i]!) }));
    return { reply, changes, messages: messages.map(({ message }) => message) };
  }

  private channelsOf(client: string): readonly string[] {
    const plain = clientChannel(KEY_PREFIX, client);
    if (!this.isInCluster) return [plain];
    return [plain, busChannel(KEY_PREFIX, client), ...KEYS.map((key) => shardChannel(KEY_PREFIX, key, client))];
  }

  private has(key: string, id: string): boolean {
    return this.inspect(key).holds.some((hold) => hold.id === id);
  }

  /** Reports which holds a script is about to end by force. */
  private foresee({ script, locks: [key], args }: Call): void {
    if (script !== 'forceRelease') return;
    const named = args.slice(3);
    const isNamed = ({ id, since }: Hold): boolean => {
      return named.some((name, i) => i % 2 === 0 && name === id && Number(named[i + 1]) === since);
    };
    this.endSome(key!, true, isNamed);
  }

  private reader(key: string): LockReader {
    let reader = this.readers.get(key);
    if (reader === undefined) {
      const names = redisKeys(KEY_PREFIX, key);
      reader = new LockReader(this.keys.look(this.micros, ...READ_ROLES.map((role) => names[role])));
      this.readers.set(key, reader);
    }
    return reader;
  }

  private endSome(key: string, byForce: boolean, isOne: (hold: Hold) => boolean): void {
    // A script executes at one moment.
    const { holds } = this.inspect(key);
    this.onLoss({ key, holds: holds.filter(isOne), lastToken: 0, life: Infinity, byForce });
  }

  /** Reports the loss of all keys: a replica or an empty server replaces this state. */
  private loseAll(): void {
    for (const key of KEYS) {
      const { holds, lastToken } = this.inspect(key);
      this.onLoss({ key, holds, lastToken, life: this.life + 1, byForce: false });
    }
  }

  private comeBack(ms: number, keys: KeySpace): void {
    this.life += 1;
    this.version += 1;
    this.freeze(ms);
    this.keys.drop();
    this.keys = keys;
    this.known.clear();
    this.readers.clear();
    this.looks.clear();
    for (const lose of this.onRestart) lose(ms);
    this.subscribers.clear();
  }
}

const isUnknown = (reply: unknown): boolean => reply instanceof Error && reply.message.startsWith('NOSCRIPT');
