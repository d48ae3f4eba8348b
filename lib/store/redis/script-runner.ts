import { systemClock, type Clock } from '../../common/clock.js';
import { readingClock } from '../../common/reading-timer.js';
import { LockStoreError } from '../../errors/index.js';
import type { ConnectionHealth } from './connection-health.js';
import type { Masters } from './connection.js';
import type { Commands } from './line.js';
import { UNDOUBTED } from './mastership.js';
import { readReply } from './reply-readers.js';
import type { ScriptCall, ScriptKeys } from './script-call.js';
import { SCRIPTS, type LuaScript, type ScriptName } from './scripts.generated.js';
import { commandAt, storeFailure } from './store-failure.js';
import { TimeLimit, type Limited } from './time-limit.js';

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
    args: ReadonlyArray<string | number>,
    read: (reply: unknown, sentTo?: string) => Reply | Promise<Reply>,
  ): Promise<Reply> {
    const { name, sha1, source } = typeof script === 'string' ? SCRIPTS[script] : script;
    return new Promise((resolve, reject) => {
      let isText = false;
      const { commands, masters } = this.connection;
      const sent = masters === undefined ? 0 : this.elapsed.now();
      // In a Cluster, another master may serve the slot by the time of the reply.
      let sentTo: string | undefined;
      const answered = (reply: unknown): void => {
        const confirmed = this.isDoubtful(limited, sent) ? masters!.confirm(keys.names[0]!, sentTo) : undefined;
        if (confirmed === undefined) return settle(reply);
        void confirmed.then((isMaster) => {
          if (isMaster) settle(reply);
          // The new master may not have executed the command.
          else if (!this.limit.isOver(limited)) send();
        });
      };
      const settle = (reply: unknown): void => {
        // The call has failed already. A late reply leads to no further command.
        if (!this.limit.end(limited)) return;
        try {
          resolve(readReply(`the script '${name}'`, reply, (raw) => read(raw, sentTo), keys.key));
        } catch (error) {
          reject(error);
        }
      };
      const failed = (error: Error): void => {
        if (this.limit.isOver(limited)) return;
        // After a restart or a failover, the server does not know the script and has not executed it.
        if (!isText && /\bNOSCRIPT\b/.test(error.message)) {
          isText = true;
          return send();
        }
        this.limit.end(limited);
        if (/\bNOREPLICAS\b/.test(error.message)) this.connection.doubt();
        reject(storeFailure(error, keys.key, commandAt(source, error)));
      };
      const send = (): void => {
        const call: ScriptCall = isText
          ? { command: 'eval', script: source, keys, args }
          : { command: 'evalsha', script: sha1, keys, args };
        void commands.run(call, (address) => (sentTo = address)).then(answered, failed);
      };
      // The rest of the work of this turn comes behind the write, while Redis executes the script.
      send();
      const limited = this.limit.begin(() => reject(this.unanswered(keys.key)));
    });
  }

  /** Whether the server may have been frozen and replaced before it executed the command. */
  private isDoubtful(limited: Limited, sent: number): boolean {
    const { masters } = this.connection;
    if (masters === undefined || this.limit.isOver(limited)) return false;
    return masters.isAsking || this.elapsed.now() - sent > UNDOUBTED;
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
