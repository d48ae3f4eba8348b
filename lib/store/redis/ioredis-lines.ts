import { tracingChannel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { Command, Redis, type RedisOptions } from 'ioredis';
import { LONGEST_TIMER } from '../../common/clock.js';
import { clearReadingTimer, setReadingTimer, type ReadingTimer } from '../../common/reading-timer.js';
import { LINGER, silenceLimit, type OwnClientOptions } from './connection-options.js';
import { guardCredentials } from './credentials.js';
import { callProvider, lifetimeOf, type LockCredentials, type LockCredentialsProvider } from './lock-credentials.js';
import type { Line, LineObserver, Lines, ServerAddress, SentScript } from './line.js';
import { allArgs, type ScriptCall } from './script-call.js';
import { closedUnanswered, databaseRefusal, isAnswer, silentServer, silentWithTls } from './store-failure.js';

/** The options of ioredis for one server, and the login for servers whose passwords expire. */
export interface LineOptions extends RedisOptions {
  readonly credentials?: LockCredentialsProvider;
}

/**
 * After how many idle ms TCP probes the other end: soon enough to keep a NAT or a load balancer from dropping an idle
 * connection. ioredis 5 leaves this to the system, which mostly waits for two hours. ioredis 6 uses 30 s.
 */
const KEEP_ALIVE = 10_000;

/** Options of lines. The user's options override them. */
const OWN_OPTIONS: RedisOptions = {
  disconnectTimeout: LINGER,
  keepAlive: KEEP_ALIVE,
  // A server that loads its data estimates the rest in whole seconds, at least one. Mostly it is ready long before.
  maxLoadingRetryTime: 100,
};

/** What commands and replies need, whatever the user's options say. A line ends with its first failure. */
const EXACT_OPTIONS: RedisOptions = {
  // The module has its own prefix.
  keyPrefix: '',
  enableAutoPipelining: false,
  enableOfflineQueue: true,
  lazyConnect: true,
  scripts: undefined,
  himportFieldsets: undefined,
  monitor: false,
  stringNumbers: false,
  replyMapping: 'legacy',
  // The module's commandTimeout limits the time.
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  blockingTimeout: undefined,
  readOnly: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  retryStrategy: null,
  reconnectOnError: undefined,
};

/** Lines over ioredis, with the user's address and options, and the options that locks need. */
export class IoredisLines implements Lines {
  readonly silence: number;
  /** Holds the options, as ioredis reads them. It is never connected. */
  private readonly template: Redis;
  private readonly credentials: LockCredentialsProvider | undefined;

  constructor(connection: string | LineOptions, { commandTimeout, label }: OwnClientOptions) {
    const options: RedisOptions = { ...OWN_OPTIONS, ...(label !== undefined && { connectionName: label }) };
    this.template =
      typeof connection === 'string'
        ? new Redis(connection, { ...options, ...EXACT_OPTIONS })
        : new Redis({ ...options, ...connection, ...EXACT_OPTIONS });
    this.credentials = typeof connection === 'string' ? undefined : connection.credentials;
    this.silence = this.template.options.socketTimeout ?? silenceLimit(commandTimeout);
    // Otherwise ioredis 5 would send commands before the server has accepted the database.
    if (this.template.options.db) this.template.options.enableReadyCheck = true;
  }

  open(observer: LineObserver, address?: ServerAddress): Line {
    const { sentinels, enableTLSForSentinelMode } = this.template.options;
    const found: RedisOptions | undefined = address && {
      ...(sentinels && !enableTLSForSentinelMode && { tls: undefined }),
      ...{ sentinels: undefined, name: undefined },
      ...address,
    };
    return new IoredisLine(this.template.duplicate({ socketTimeout: undefined, ...found }), observer, this.credentials);
  }
}

/**
 * Large enough to make a write cheap for each command. The first few go out sooner, so that Redis starts while the
 * others are encoded.
 */
const COMMANDS_PER_WRITE = 16;
const COMMANDS_AT_FIRST = 4;

/**
 * The error of ioredis 5 if it takes the notice of a moved slot for a failure. It may have taken it for the reply to another
 * command first: then the error is about the reply to the last command that was sent.
 */
const MISTAKEN = /^Command queue state error.*\b(sunsubscribe|ssubscribe|pong|MOVED)\b/s;

/** The errors of a socket that the other end has closed. */
const CLOSED = /EPIPE|ECONNRESET/;

/** For how many ms notices of moved slots are gathered. */
const GATHER = 20;

class IoredisLine implements Line {
  readonly opened: Promise<void>;
  private isOver = false;
  /** Whether the function of the application owes the first login. */
  private isAwaitingLogin = false;
  /** Whether the server has accepted the connection and has not answered yet. */
  private isUnanswered = false;
  /** Why the line has ended, if that is known. */
  private why: Error | undefined;
  /** The channels in slots whose subscription the server has confirmed. */
  private readonly channels = new Set<string>();
  private gathering: ReadingTimer | undefined;
  private renewal: ReadingTimer | undefined;
  /** The password in use, as long as it may appear in errors. */
  private login: { readonly password: string } | undefined;
  private corked: Socket | undefined;
  private toGather = 0;

  constructor(
    private readonly client: Redis,
    private readonly observer: LineObserver,
    credentials: LockCredentialsProvider | undefined,
  ) {
    client.on('connect', () => {
      // An application that fails to start closes nothing. Commands and waiters that are pending keep the process running.
      client.stream.unref();
      this.isUnanswered = true;
      if (!this.isOver) observer.connected?.();
    });
    client.on('ready', () => (this.isUnanswered = false));
    const heard = (isSharded: boolean) => (channel: string, message: string) =>
      this.isOver || observer.message?.(channel, message, isSharded);
    client.on('message', heard(false));
    client.on('smessage', heard(true));
    // A slot has moved, and some of the channels with it. ioredis 5 means that the server has refused a channel, and never
    // settles the command.
    client.on('moved', () => ('protocol' in client.options ? this.gather() : this.end(undefined)));
    client.on('error', (error: Error) => (MISTAKEN.test(error.message) ? this.gather() : this.end(asRefusal(error))));
    client.on('end', () => this.end(undefined));
    this.opened = (credentials === undefined ? client.connect() : this.logIn(credentials)).catch((error: Error) => {
      this.end(error);
      // ioredis emits the reason, and rejects with another error.
      throw this.why ?? error;
    });
    this.opened.catch(() => undefined);
  }

  get state(): Line['state'] {
    const { status } = this.client;
    if (this.isOver || status === 'close' || status === 'end') return 'ended';
    return status === 'ready' ? 'ready' : 'opening';
  }

  get peer(): string {
    const { stream, options } = this.client;
    return options.path ?? `${stream?.remoteAddress ?? options.host}:${stream?.remotePort ?? options.port}`;
  }

  private get hasTls(): boolean {
    return Boolean(this.client.options.tls);
  }

  get unanswered(): Error | undefined {
    const { status, stream } = this.client;
    if (this.isAwaitingLogin) return new Error('connection.credentials has returned no login yet');
    if (stream?.readyState !== 'open') return undefined;
    if (status === 'connecting' && this.hasTls) return silentWithTls(this.peer, 'accepts connections and does');
    return status === 'connect' ? silentServer(this.peer, this.hasTls) : undefined;
  }

  /** Commands of one turn of the event loop go out in few writes. A single command goes out at once. */
  run(script: SentScript): void {
    const { stream, commandQueue } = this.client as unknown as { stream: Socket; commandQueue: { length: number } };
    if (commandQueue.length > 0) {
      if (this.corked === undefined) {
        this.corked = stream;
        this.toGather = COMMANDS_AT_FIRST;
        stream.cork();
        process.nextTick(() => {
          this.corked = undefined;
          stream.uncork();
        });
      } else if (--this.toGather === 0) {
        this.toGather = COMMANDS_PER_WRITE;
        stream.uncork();
        stream.cork();
      }
    }
    void this.client.sendCommand(new ScriptCommand(script, this.observer));
  }

  send(command: string, ...args: ReadonlyArray<string | number>): Promise<unknown> {
    return this.client.call(command, ...args);
  }

  async subscribe(channel: string): Promise<void> {
    await this.client.subscribe(channel);
  }

  async subscribeInSlot(channel: string): Promise<void> {
    await this.client.ssubscribe(channel);
    this.channels.add(channel);
  }

  unsubscribe(channel: string, isInSlot: boolean): void {
    this.channels.delete(channel);
    const done = isInSlot ? this.client.sunsubscribe(channel) : this.client.unsubscribe(channel);
    done.catch(() => undefined);
  }

  close(isBroken = false): void {
    const { stream } = this.client;
    // Each disconnect() adds a listener to the socket, and a burst of refusals closes its line many times.
    if (!this.isOver) {
      this.isOver = true;
      clearReadingTimer(this.gathering);
      clearReadingTimer(this.renewal);
      this.client.disconnect();
    }
    if (isBroken) stream?.destroy();
  }

  private end(error: Error | undefined): void {
    if (this.isOver) return;
    this.close(true);
    const isClosed = error === undefined || CLOSED.test(error.message);
    const isSilent = error?.message.includes('ETIMEDOUT') === true && this.hasTls;
    if (this.isUnanswered && isClosed) this.why = closedUnanswered(this.peer, this.hasTls, error);
    else this.why = isSilent ? silentWithTls(this.peer, 'does') : error;
    this.observer.ended?.(this.why);
  }

  private async logIn(provide: LockCredentialsProvider): Promise<void> {
    this.isAwaitingLogin = true;
    const login = await this.take(provide).finally(() => (this.isAwaitingLogin = false));
    if (this.isOver) throw new Error('Connection is closed.');
    // ioredis reads them when it connects.
    Object.assign(this.client.options, { username: login.username ?? 'default', password: login.password });
    await this.client.connect();
    this.renewLater(provide, login);
  }

  /** Calls the function of the application. No error shows a password of which the library knows. */
  private async take(provide: LockCredentialsProvider): Promise<LockCredentials> {
    const login = await callProvider(provide);
    this.login = { password: login.password };
    guardCredentials(this.login, this.login);
    return login;
  }

  private renewLater(provide: LockCredentialsProvider, login: LockCredentials | undefined): void {
    const lifetime = lifetimeOf(login);
    if (lifetime === undefined || this.isOver) return;
    const end = (error: Error): void => this.end(error);
    this.renewal = setReadingTimer(Math.min(lifetime, LONGEST_TIMER), () => void this.renew(provide).catch(end));
  }

  /** In RESP2, a subscriber cannot log in again, so its line is replaced. Its waiters ask when the next one is subscribed. */
  private async renew(provide: LockCredentialsProvider): Promise<void> {
    const { condition } = this.client;
    if (condition?.subscriber && condition.protocol !== 3) return this.end(undefined);
    // If the function fails, the server still accepts the last password until it expires.
    const login = await this.take(provide).catch(() => undefined);
    if (this.isOver) return;
    if (login !== undefined) await this.client.call('AUTH', login.username ?? 'default', login.password);
    this.renewLater(provide, login);
  }

  private gather(): void {
    this.gathering ??= setReadingTimer(GATHER, () => this.findDeparted());
  }

  /** ioredis does not report which channels have moved. It only removes them from its own list. */
  private findDeparted(): void {
    this.gathering = undefined;
    const subscriber = this.client.condition?.subscriber;
    const left = new Set(subscriber ? subscriber.channels('ssubscribe') : []);
    const departed = [...this.channels].filter((channel) => !left.has(channel));
    for (const channel of departed) this.channels.delete(channel);
    if (departed.length > 0) this.observer.departed?.(departed);
  }
}

/** An error that says what to do if the server refuses the database. Other errors are returned as they are. */
function asRefusal(error: Error): Error {
  const { name, args } = (error as { command?: { name?: string; args?: unknown[] } }).command ?? {};
  return name === 'select' ? databaseRefusal(error, args?.[0]) : error;
}

/** Begins a bulk string of RESP, by its length in bytes. It ends what stands before it, so that few strings have to be joined. */
const buildHead = (bytes: number): string => `\r\n$${bytes}\r\n`;

/** The usual heads. A command has fifteen strings, and most are short. */
const HEADS: readonly string[] = Array.from({ length: 1_024 }, (_, bytes) => buildHead(bytes));

/** What calls by a hash begin with: by the hash, and the number of keys. */
const beginnings = new Map<string, string[]>();

/** In one piece: pieces would be joined again for each command. */
function beginning({ command, script }: ScriptCall, keyCount: number): string {
  const texts = [command, script, String(keyCount)];
  const built = texts.map((text) => buildHead(Buffer.byteLength(text)) + text).join('');
  if (command === 'evalsha') {
    const ofScript = beginnings.get(script) ?? [];
    beginnings.set(script, ofScript);
    ofScript[keyCount] = built;
  }
  return built;
}

/** The traces of the commands of ioredis, such as those of OpenTelemetry. Older versions of Node do not know whether there are any. */
const TRACES: { readonly hasSubscribers?: boolean } = tracingChannel('ioredis:command');

const NO_ARGS: string[] = [];
const REPLIES = { replyEncoding: 'utf8' } as const;

/**
 * A call of a script that encodes itself for the wire, and whose reply goes to the observer of its line. ioredis would process
 * each of some fifteen arguments three times, which takes twice as long, and make a promise for the reply.
 */
export class ScriptCommand extends Command {
  private readonly call: SentScript | undefined;
  private readonly observer: LineObserver | undefined;
  /** Ends the trace of this command, if there is one. */
  private traced: { readonly resolve: (reply: unknown) => void; readonly reject: (error: Error) => void } | undefined;

  static {
    Object.defineProperties(this.prototype, {
      // ioredis reads `args` to show a command in errors and traces. Its constructor reads them, too.
      args: {
        get(this: ScriptCommand) {
          return this.call === undefined ? [] : allArgs(this.call).map(String);
        },
        set: () => undefined,
      },
      initPromise: { value: () => undefined },
      // ioredis reads it when it has written the command, and passes it to the tracers of commands.
      promise: {
        get(this: ScriptCommand) {
          if (TRACES.hasSubscribers === false) return undefined;
          const promise = new Promise((resolve, reject) => (this.traced = { resolve, reject }));
          promise.catch(() => undefined);
          return promise;
        },
      },
      resolve: {
        value(this: ScriptCommand, raw: Buffer) {
          this.isSettled = this.isResolved = true;
          const reply: unknown = this.transformReply(raw);
          this.traced?.resolve(reply);
          this.observer!.answered?.(this.call!, reply);
        },
      },
      reject: {
        value(this: ScriptCommand, error: Error) {
          this.isSettled = true;
          this.traced?.reject(error);
          // Any other error ends the line, and ioredis rejects its commands before it reports that.
          if (isAnswer(error)) this.observer!.failed?.(this.call!, error);
        },
      },
    });
  }

  constructor(call: SentScript, observer: LineObserver) {
    super(call.command, NO_ARGS, REPLIES);
    this.call = call;
    this.observer = observer;
  }

  override toWritable(): string {
    const call = this.call!;
    const { command, script, keys, args } = call;
    const { texts, onWire } = keys.prefixes;
    const known = command === 'evalsha' ? beginnings.get(script)?.[texts.length] : undefined;
    let wire = known ?? beginning(call, texts.length);
    // Computing the length of the name for each key would cost more than the rest of a command.
    const bytes = Buffer.byteLength(keys.name);
    onWire[bytes] ??= texts.map((prefix) => buildHead(Buffer.byteLength(prefix) + bytes) + prefix);
    for (const prefix of onWire[bytes]) wire += prefix + keys.name;
    for (const arg of args) {
      const text = typeof arg === 'function' ? arg() : String(arg);
      // A number is ASCII.
      const length = typeof arg === 'number' ? text.length : Buffer.byteLength(text);
      wire += (HEADS[length] ?? buildHead(length)) + text;
    }
    return `*${args.length + texts.length + 3}${wire}\r\n`;
  }
}
