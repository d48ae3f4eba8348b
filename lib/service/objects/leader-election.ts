import type { Duration } from '../../common/duration.js';
import type { LockLostError } from '../../errors/index.js';
import type { AcquireOptions } from '../../options/acquire-options.js';
import type { LockHandle } from '../handles/lock-handle.js';

/**
 * Called when this candidate has become the leader. `signal` aborts when the term ends, for whatever reason; the signal of the
 * handle aborts only if the lock is lost. The listener may be asynchronous, and may take as long as the term. Its errors are
 * logged.
 */
export type ElectedListener = (handle: LockHandle, signal: AbortSignal) => unknown;

/**
 * Called when a term has ended: with the error if the lock was lost, before another candidate can be elected; with
 * `undefined` after `resign()`, `stop()` and a release of the handle. A leader that gives up leadership waits for this
 * listener, at most 5 s, before the next leader can be elected. Its errors are logged.
 */
export type DeposedListener = (error: LockLostError | undefined) => unknown;

/** How a candidate takes part in an election. */
export interface LeaderElectionOptions extends Pick<AcquireOptions, 'renewedLease' | 'replicas' | 'pattern'> {
  /** Called with the handle and a signal that aborts at the end of the term. It may run for the whole term. */
  onElected?: ElectedListener | undefined;
  /**
   * Called at the end of each term: with the error if the lock was lost, otherwise with `undefined`. A leader that
   * resigns or stops waits for this function, at most 5 s.
   */
  onDeposed?: DeposedListener | undefined;
  /**
   * How long a candidate waits for the listeners of its last term to finish before it stands for election again. Then
   * it logs a warning and stands, so two terms may overlap. `0` does not wait; `Infinity` waits without limit.
   * @defaultValue 30 s
   * @throws LockConfigError if it is neither a duration nor `Infinity`
   */
  finishTimeout?: Duration | undefined;
}

/**
 * One leader among all processes that stand for the same key: the holder of its exclusive lock. The other candidates wait in
 * its queue. If a leader crashes, the next one follows within its lease (`renewedLease`, 30 s by default); if it stops or
 * resigns, at once.
 *
 * ```ts
 * // An injectable service:
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
 * It promises what the lock promises. Send the `fencingToken` with each write, in case a leader is paused.
 */
export interface LeaderElection extends AsyncDisposable {
  readonly key: string;
  /** Whether this candidate leads now. No I/O. Correct even right after the event loop was blocked. */
  readonly isLeader: boolean;
  /** The lock of the current term; `undefined` if this candidate does not lead. Releasing it is the same as `resign()`. */
  readonly handle: LockHandle | undefined;
  /** Aborts when the current term ends, with the `LockLostError` if the lock was lost; `undefined` outside a term. */
  readonly signal: AbortSignal | undefined;
  /**
   * A number that is larger than that of every earlier leader; `undefined` if this candidate does not lead. The clocks of the
   * Redis servers must meet conditions: see docs/transactions.md#when-tokens-grow.
   */
  readonly fencingToken: number | undefined;
  /**
   * Stands for election, from now on and again after each term, until `stop()`. After a term the candidate stands again once
   * the listeners of that term have finished, or after `finishTimeout`. While Redis fails it keeps trying. A second call has
   * no effect.
   * @throws LockStoreError if the application is shutting down
   */
  start(): this;
  /**
   * Stops standing, and leading, until `start()` is called again. Resolves when leadership has been released; never rejects.
   * If Redis cannot be reached, the lease ends by itself. The module stops all elections when the application shuts down.
   */
  stop(): Promise<void>;
  /**
   * Releases leadership and stands again, behind all other candidates. Without other candidates it leads again. Resolves when
   * leadership has been released, to `false` if this candidate did not lead.
   */
  resign(): Promise<boolean>;
  /**
   * Calls a listener each time this candidate is elected. Call this before `start()`. Returns a function that removes
   * the listener.
   */
  onElected(listener: ElectedListener): () => void;
  /** Calls a listener at the end of each term. Returns a function that removes the listener. */
  onDeposed(listener: DeposedListener): () => void;
}
