import type { Duration } from '../../common/duration.js';
import type { LockLostError } from '../../errors/index.js';
import type { AcquireOptions } from '../../options/acquire-options.js';
import type { OptionIn } from '../../options/option-table.js';
import type { LockHandle } from '../handles/lock-handle.js';

/**
 * Called when this candidate has become the leader. `signal` aborts when the term ends, whichever way; that of the handle
 * only when the lock is lost. It may be asynchronous, and may take as long as the term; what it throws is logged, no more.
 */
export type ElectedListener = (handle: LockHandle, signal: AbortSignal) => unknown;

/**
 * Called when a term has ended: with the error when the lock was lost, before anybody else can have been elected; with
 * `undefined` after `resign()`, `stop()` and a release of the handle. Whoever gives leadership up waits for what this
 * does, at most 5 s, before the next leader can be elected. What it throws is logged, no more.
 */
export type DeposedListener = (error: LockLostError | undefined) => unknown;

/** How a candidate takes part in an election. */
export interface LeaderElectionOptions extends Pick<AcquireOptions, OptionIn<'election'> & keyof AcquireOptions> {
  /** Called with the handle and a signal that aborts at the end of the term. It may take as long as the term. */
  onElected?: ElectedListener;
  /**
   * Called at the end of each term: with the error if the lock was lost, otherwise with `undefined`. A leader that resigns or
   * stops waits for it, at most 5 s.
   */
  onDeposed?: DeposedListener;
  /**
   * How long after the end of a term the candidate waits for `onElected` and `onDeposed` of that term to finish before
   * it stands again. Then it stands with a warning, and two terms may overlap in this process. `0` does not wait;
   * `Infinity` waits without limit.
   * @defaultValue 30 s
   * @throws LockConfigError if it is neither a duration nor `Infinity`
   */
  finishTimeout?: Duration;
}

/**
 * One leader among all processes that stand for the same key: whoever holds its exclusive lock. The others wait in its
 * queue. If the leader's process crashes, the next leader is elected within its lease (`lockWatchdogTimeout`, 30 s by default);
 * after `resign()` or `stop()`, at once.
 *
 * ```ts
 * @Injectable()
 * export class Mailer implements OnModuleInit {
 *   constructor(private readonly locks: LockService) {}
 *
 *   onModuleInit() {
 *     // Stopped by the module when the application shuts down.
 *     this.locks.getLeaderElection('mailer', { onElected: (lock, signal) => this.sendMails(signal) }).start();
 *   }
 * }
 * ```
 *
 * It promises what the lock promises: for the days when a leader is stopped between two lines, send its `fencingToken`
 * along.
 */
export interface LeaderElection extends AsyncDisposable {
  readonly key: string;
  /** Whether this candidate leads now. No I/O; right on the first line after the process was stalled, too. */
  readonly isLeader: boolean;
  /** The lock of the current term; `undefined` while others lead. Releasing it is the same as `resign()`. */
  readonly handle: LockHandle | undefined;
  /** Aborts when the current term ends, with the `LockLostError` when the lock was lost; `undefined` while others lead. */
  readonly signal: AbortSignal | undefined;
  /** Larger than that of every earlier leader; `undefined` while others lead. */
  readonly fencingToken: number | undefined;
  /**
   * Stands for election, from now on and again after each lost term, until `stop()`. After a term it stands again once
   * the listeners of that term have finished, or after `finishTimeout`. While Redis fails it goes on trying.
   * A second call changes nothing.
   * @throws LockStoreError when the application is shutting down
   */
  start(): this;
  /**
   * Leaves, leading or not, until `start()` is called again; resolves when leadership has been given up, and never rejects. When Redis does not
   * hear of it the lease ends by itself. The module does this for all elections when the application shuts down.
   */
  stop(): Promise<void>;
  /**
   * Gives leadership up and stands again, behind all others who stand; comes back when there are none. Resolves when it
   * has been given up. `false`: there was nothing to give up.
   */
  resign(): Promise<boolean>;
  /** Has a listener called at each election; call this before `start()`. Answers how to stop that. */
  onElected(listener: ElectedListener): () => void;
  /** Has a listener called at the end of each term. Answers how to stop that. */
  onDeposed(listener: DeposedListener): () => void;
}
