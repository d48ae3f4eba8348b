import { systemClock, type Clock } from '../../common/clock.js';
import { readingClock } from '../../common/reading-timer.js';
import { LockStoreError } from '../../errors/index.js';
import type { ConnectionHealth } from './connection-health.js';
import type { Masters } from './connection.js';
import type { Commands, SentScript } from './line.js';
import { UNDOUBTED } from './mastership.js';
import { readReply } from './reply-readers.js';
import { namesOf, type ScriptArg, type ScriptKeys } from './script-call.js';
import { SCRIPTS, type LuaScript, type ScriptName } from './scripts.generated.js';
import { commandAt, storeFailure } from './store-failure.js';
import { TimeLimit } from './time-limit.js';

/** What a runner needs of the connections. */
interface ScriptConnection {
  readonly commands: Commands;
  readonly masters?: Masters | undefined;
  readonly health: Pick<ConnectionHealth, 'commandError'>;
  doubt(): void;
}

/** Runs scripts by their hash, sends their text if the server does not know them, and limits the time for a reply. */
export class ScriptRunner {
  private readonly limit: TimeLimit;
  private isClosed = false;

  constructor(
    private readonly connection: ScriptConnection,
    private readonly commandTimeout: number,
    clock = readingClock,
    /** Counts suspensions: the master may have been replaced meanwhile. */
    private readonly elapsed: Pick<Clock, 'now'> = systemClock,
  ) {
    this.limit = new TimeLimit(commandTimeout, clock, () => connection.doubt());
  }

  /**
   * Resolves to what `read` makes of the reply. `sentTo`: the master that the command was sent to, in a Cluster.
   * @throws LockStoreError if the server refuses, answers as the script cannot, or has not answered within
   * `commandTimeout`. Even then the script may have been executed, or may still be.
   */
  run<Reply>(
    script: ScriptName | LuaScript,
    keys: ScriptKeys,
    args: readonly ScriptArg[],
    read: (reply: unknown, sentTo?: string) => Reply | Promise<Reply>,
  ): Promise<Reply> {
    const { name, sha1, source } = typeof script === 'string' ? SCRIPTS[script] : script;
    return new Promise((resolve, reject) => {
      const { commands, masters } = this.connection;
      const sent = masters === undefined ? 0 : this.elapsed.now();
      const answered = (reply: unknown): void => {
        // The server may have been frozen and replaced before it executed the command. In a Cluster, another master may serve
        // the slot by the time of the reply.
        const isDoubtful = masters !== undefined && (masters.isAsking || this.elapsed.now() - sent > UNDOUBTED);
        const confirmed = isDoubtful ? masters.confirm(namesOf(keys)[0]!, command.sentTo) : undefined;
        if (confirmed === undefined) return settle(reply);
        void confirmed.then((isMaster) => {
          if (isMaster) settle(reply);
          // The new master may not have executed the command.
          else if (!this.limit.isOver(limited)) commands.run(command);
        });
      };
      const settle = (reply: unknown): void => {
        // The call has failed already. A late reply leads to no further command.
        if (!this.limit.end(limited)) return;
        try {
          resolve(readReply(`the script '${name}'`, reply, (raw) => read(raw, command.sentTo), keys.key));
        } catch (error) {
          reject(error);
        }
      };
      const failed = (error: Error): void => {
        if (this.limit.isOver(limited)) return;
        // After a restart or a failover, the server does not know the script and has not executed it.
        if (command.command === 'evalsha' && /\bNOSCRIPT\b/.test(error.message)) {
          command.command = 'eval';
          command.script = source;
          return commands.run(command);
        }
        this.limit.end(limited);
        if (/\bNOREPLICAS\b/.test(error.message)) this.connection.doubt();
        reject(storeFailure(error, keys.key, commandAt(source, error)));
      };
      const command: SentScript = {
        command: 'evalsha',
        script: sha1,
        keys,
        args,
        sentTo: undefined,
        answered,
        failed,
        list: undefined,
        before: undefined,
        behind: undefined,
      };
      // The rest of the work of this turn comes behind the write, while Redis executes the script.
      commands.run(command);
      const limited = this.limit.begin(() => reject(this.unanswered(keys.key)));
    });
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
