import { systemClock, type Clock } from '../../common/clock.js';
import { readingClock } from '../../common/reading-timer.js';
import { LockStoreError } from '../../errors/index.js';
import type { ConnectionHealth } from './connection-health.js';
import type { Masters } from './connection.js';
import type { Command, Commands, SentScript } from './line.js';
import { UNDOUBTED } from './mastership.js';
import { readReply } from './reply-readers.js';
import { namesOf, type ScriptArg, type ScriptKeys } from './script-call.js';
import { SCRIPTS, type LuaScript, type ScriptName } from './scripts.generated.js';
import { commandAt, storeFailure } from './store-failure.js';
import { TimeLimit, type Limited } from './time-limit.js';

/** Sends commands that are no scripts, and limits the time for a reply. */
export type Asker = Pick<ScriptRunner, 'ask'>;

/** What a runner needs of the connections. */
interface ScriptConnection {
  readonly commands: Commands;
  readonly masters?: Masters | undefined;
  readonly health: Pick<ConnectionHealth, 'commandError'>;
  doubt(): void;
}

/** A script on its way. It settles the promise of its caller. */
class ScriptRun<Reply> implements SentScript {
  list: object | undefined;
  before: Command | undefined;
  behind: Command | undefined;
  command: SentScript['command'] = 'evalsha';
  script: string;
  master: string | undefined;
  limited: Limited | undefined;
  private readonly sent: number;
  /** Whether the server did not know the hash before. */
  private wasUnknown = false;

  constructor(
    private readonly runner: ScriptRunner,
    private readonly lua: LuaScript,
    readonly keys: ScriptKeys,
    readonly args: readonly ScriptArg[],
    private readonly read: (reply: unknown, master?: string) => Reply | Promise<Reply>,
    private readonly resolve: (reply: Reply | Promise<Reply>) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.script = lua.sha1;
    this.sent = runner.connection.masters === undefined ? 0 : runner.elapsed.now();
  }

  answered(reply: unknown): void {
    const { connection, elapsed, limit, texts } = this.runner;
    const { masters } = connection;
    if (this.command === 'eval') texts.delete(this.lua);
    // The server may have been frozen and replaced before it executed the command. In a Cluster, another master may serve
    // the slot by the time of the reply.
    const isDoubtful = masters !== undefined && (masters.isAsking || elapsed.now() - this.sent > UNDOUBTED);
    const confirmed = isDoubtful ? masters.confirm(namesOf(this.keys)[0]!, this.master) : undefined;
    if (confirmed === undefined) return this.settle(reply);
    void confirmed.then((isMaster) => {
      if (isMaster) this.settle(reply);
      // The new master may not have executed the command.
      else if (!limit.isOver(this.limited!)) connection.commands.run(this);
    });
  }

  failed(error: Error): void {
    const { connection, limit, texts } = this.runner;
    const { lua } = this;
    if (this.command === 'eval') texts.delete(lua);
    // Behind the limit, only a release is of use: otherwise a lock or a place would stay taken.
    const isOfUse = lua.name === 'release' || !limit.isOver(this.limited!);
    // After a restart or a failover, the server does not know the script and has not executed it.
    if (isOfUse && this.command === 'evalsha' && /\bNOSCRIPT\b/.test(error.message)) {
      // Behind the text of another run, the hash is enough, unless that text went to another server.
      if (this.wasUnknown || !texts.has(lua)) {
        texts.add(lua);
        this.command = 'eval';
        this.script = lua.source;
      }
      this.wasUnknown = true;
      return connection.commands.run(this);
    }
    if (!limit.end(this.limited!)) return;
    if (/\bNOREPLICAS\b/.test(error.message)) connection.doubt();
    this.reject(storeFailure(error, this.keys.key, commandAt(lua.source, error)));
  }

  private settle(reply: unknown): void {
    // The call has failed already. A late reply leads to no further command.
    if (!this.runner.limit.end(this.limited!)) return;
    try {
      this.resolve(
        readReply(`the script '${this.lua.name}'`, reply, (raw) => this.read(raw, this.master), this.keys.key),
      );
    } catch (error) {
      this.reject(error);
    }
  }
}

/**
 * Runs scripts by their hash, and sends their text if the server does not know them. Also sends other commands. Limits the time
 * for a reply.
 */
export class ScriptRunner {
  readonly limit: TimeLimit;
  /** The scripts whose text is on its way. */
  readonly texts = new Set<LuaScript>();
  private isClosed = false;

  constructor(
    readonly connection: ScriptConnection,
    private readonly commandTimeout: number,
    clock = readingClock,
    /** Counts suspensions: the master may have been replaced meanwhile. */
    readonly elapsed: Pick<Clock, 'now'> = systemClock,
  ) {
    this.limit = new TimeLimit(commandTimeout, clock, () => connection.doubt());
  }

  /**
   * Resolves to what `read` makes of the reply. `master`: that of its slot when it was sent, in a Cluster.
   * @throws LockStoreError if the server refuses, answers as the script cannot, or has not answered within
   * `commandTimeout`. Even then the script may have been executed, or may still be.
   */
  run<Reply>(
    script: ScriptName | LuaScript,
    keys: ScriptKeys,
    args: readonly ScriptArg[],
    read: (reply: unknown, master?: string) => Reply | Promise<Reply>,
  ): Promise<Reply> {
    const lua = typeof script === 'string' ? SCRIPTS[script] : script;
    return new Promise<Reply>((resolve, reject) => {
      const run = new ScriptRun(this, lua, keys, args, read, resolve, reject);
      // The rest of the work of this turn comes behind the write, while Redis executes the script.
      this.connection.commands.run(run);
      run.limited = this.limit.begin(() => reject(this.unanswered(keys.key)));
    });
  }

  /**
   * Sends a command that is no script. `to`: the server, if it is not that of the key.
   * @throws LockStoreError as `run` does
   */
  async ask<Reply>(
    [command, ...args]: readonly [command: string, ...args: Array<string | number>],
    read: (reply: unknown) => Reply,
    to: Pick<Commands, 'send'> = this.connection.commands,
  ): Promise<Reply> {
    try {
      const reply = await this.limit.within(to.send(command, ...args), () => this.unanswered(undefined));
      return readReply(command, reply, read);
    } catch (error) {
      throw storeFailure(error);
    }
  }

  /** The connection was closed: no reply comes any more. */
  close(): void {
    this.isClosed = true;
    this.limit.endAll();
  }

  private unanswered(key: string | undefined): LockStoreError {
    if (this.isClosed)
      return new LockStoreError('the connection to Redis was closed before the reply', { key, transient: true });
    const cause = this.connection.health.commandError;
    const why = cause === undefined ? '' : `: ${cause.message}`;
    return new LockStoreError(`Redis did not answer within ${this.commandTimeout} ms (commandTimeout)${why}`, {
      key,
      cause,
      transient: true,
    });
  }
}
