import type { Socket } from 'node:net';
import type { Cluster, Redis } from 'ioredis';
import { setReadingTimer, type ReadingTimer } from '../../common/reading-timer.js';
import { LockStoreError } from '../../errors/index.js';
import { DOUBT, DOUBT_AGAIN } from './connection-options.js';
import { allArgs, ScriptCommand, takesScriptCommands, type ScriptCall } from './script-command.js';
import type { ScriptKeys } from './script-keys.js';
import { SCRIPTS, type ScriptName } from './scripts.generated.js';
import { storeFailure } from './store-failure.js';
import { TimeLimit } from './time-limit.js';

/**
 * Scripts that are sent as text always: by hash and then, after a NOSCRIPT, again, they would be executed behind what
 * was sent after them. A shorter lease that comes behind a longer one ends under its holder.
 */
const BY_TEXT: ReadonlySet<ScriptName> = new Set(['extend']);

/** Enough that a write costs little for each; the first few go out sooner, so that Redis begins while the others are made. */
const COMMANDS_PER_WRITE = 16;
const COMMANDS_AT_FIRST = 4;

/** Runs scripts by their hash, sends their text where the server does not know them, and bounds how long that takes. */
export class ScriptRunner {
  private readonly limit: TimeLimit;
  private corked: Socket | undefined;
  private toGather = 0;
  /** Looks for silence while something is under way. */
  private watch: ReadingTimer | undefined;

  constructor(
    private readonly client: Redis | Cluster,
    private readonly commandTimeout: number,
    /** Why there is no connection, if there is none. */
    private readonly trouble: () => Error | undefined,
    /** Hears, again and again, that the server does not answer, or lacks the replicas that it needs for writes. */
    private readonly doubt: () => void,
  ) {
    this.limit = new TimeLimit(commandTimeout);
  }

  /**
   * @throws LockStoreError when the server refuses, or has not answered within `commandTimeout`. The script may have
   * been executed all the same, or may be yet.
   */
  run(script: ScriptName, keys: ScriptKeys, args: ReadonlyArray<string | number>): Promise<unknown> {
    const { sha1, source } = SCRIPTS[script];
    this.gather();
    return new Promise((resolve, reject) => {
      const limited = this.limit.begin(() => reject(this.timedOut()));
      this.watch ??= this.watchForSilence();
      const answered = (reply: unknown): void => {
        this.limit.end(limited);
        resolve(reply);
      };
      const failed = (error: unknown): void => {
        this.limit.end(limited);
        if (/\bNOREPLICAS\b/.test((error as Error).message)) this.doubt();
        reject(storeFailure(error));
      };
      const sendText = (): void =>
        void this.send({ command: 'eval', script: source, keys, args }).then(answered, failed);
      if (BY_TEXT.has(script)) return sendText();
      this.send({ command: 'evalsha', script: sha1, keys, args }).then(answered, (error: Error) => {
        // A server that has restarted, or a replica that has taken over. The script has not been executed. A Cluster's
        // client that was sent about puts its own words before what it was told last.
        if (/\bNOSCRIPT\b/.test(error.message)) sendText();
        else failed(error);
      });
    });
  }

  private send(call: ScriptCall): Promise<unknown> {
    const { client } = this;
    return takesScriptCommands(client)
      ? (client.sendCommand(new ScriptCommand(call)) as Promise<unknown>)
      : client[call.command](...allArgs(call));
  }

  /** What is sent within one turn of the event loop goes out in few writes; what is alone under way, at once. */
  private gather(): void {
    const { stream } = this.client as { stream?: Socket };
    if (stream === undefined || this.limit.isIdle) return;
    if (this.corked === undefined) {
      this.corked = stream;
      this.toGather = COMMANDS_AT_FIRST;
      stream.cork();
      process.nextTick(() => {
        this.corked = undefined;
        stream.uncork();
      });
    } else if (this.corked === stream && --this.toGather === 0) {
      this.toGather = COMMANDS_PER_WRITE;
      stream.uncork();
      stream.cork();
    }
  }

  private watchForSilence(delay = DOUBT): ReadingTimer {
    const look = (): void => {
      this.watch = undefined;
      if (this.limit.isIdle) return;
      const silence = this.limit.longest;
      if (silence >= DOUBT) this.doubt();
      this.watch = this.watchForSilence(silence >= DOUBT ? DOUBT_AGAIN : Math.ceil(DOUBT - silence));
    };
    // What has arrived while the process was held up is read first.
    return setReadingTimer(delay, look);
  }

  private timedOut(): LockStoreError {
    const cause = this.trouble();
    const why = cause === undefined ? '' : `: ${cause.message}`;
    return new LockStoreError(`Redis did not answer within ${this.commandTimeout} ms (commandTimeout)${why}`, {
      cause,
      transient: true,
    });
  }
}
