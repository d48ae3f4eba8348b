import { AsyncResource } from 'node:async_hooks';
import { inspect, type InspectOptions } from 'node:util';
import { messageOf } from '../../common/describe.js';
import { outside } from '../../common/async-context.js';
import { settledBy } from '../../common/settle.js';
import type { EngineContext } from '../../engine/engine-context.js';
import { isLockConfigError, LockStoreError, type LockConfigError, type LockLostError } from '../../errors/index.js';
import type { AcquireOptions } from '../../options/acquire-options.js';
import { HeldLock } from '../handles/held-lock.js';
import type { DeposedListener, ElectedListener, LeaderElection, LeaderElectionOptions } from './leader-election.js';
import type { LockHandle } from '../handles/lock-handle.js';
import { read } from '../../options/option-readers.js';
import { OPTIONS } from '../../options/option-table.js';

/** After a failure a candidate retries after about so many ms, doubled with each failure up to the second number. */
const FIRST_RETRY = 250;
const LAST_RETRY = 2_000;
/** For how many ms the onDeposed listeners of a leader may delay the next leader. */
const HANDOVER = 5_000;

type ListenerName = 'onElected' | 'onDeposed';
type Listener = (...args: any[]) => unknown;

/** What a candidate shows the service. */
type Candidate = Pick<LeaderElection, 'key' | 'stop'> & { readonly pattern: string };

/** The candidates of a service that stand for election. They stop when the service shuts down. */
export class Elections {
  private readonly standing = new Set<Candidate>();
  /** Why no candidate can stand any more. */
  private over: string | undefined;

  /** @throws LockStoreError when the application is shutting down */
  add(election: Candidate): void {
    if (this.over !== undefined) {
      const { key } = election;
      throw new LockStoreError(`${this.over}: no candidate can stand for election any more`, { key });
    }
    this.standing.add(election);
  }

  /** The patterns of the elections, once for each candidate. */
  get patterns(): string[] {
    return [...this.standing].map(({ pattern }) => pattern);
  }

  delete(election: Candidate): void {
    this.standing.delete(election);
  }

  /** Stops all candidates, so that other processes take over at once, and refuses new ones. */
  stopAll(why = 'the application is shutting down'): void {
    this.over ??= why;
    for (const election of [...this.standing]) void election.stop();
  }
}

/** What a candidate needs: the shared parts, the table of candidates that stop at shutdown, and a way to acquire. */
export interface ElectionParts {
  readonly context: Pick<EngineContext, 'clock' | 'timers' | 'random' | 'logger' | 'limits'>;
  readonly elections: Elections;
  readonly acquire: (key: string, options: AcquireOptions) => Promise<LockHandle>;
}

/** A candidate: waits for the lock of its key as long as it stands, and leads while it holds the lock. */
export class DefaultLeaderElection implements LeaderElection {
  private readonly listeners = { onElected: new Set<Listener>(), onDeposed: new Set<Listener>() };
  /** Aborts when the candidate stops; `undefined`: it does not stand. */
  private standing: AbortController | undefined;
  /** Resolves when the candidate has left all elections in which it stood so far. */
  private left: Promise<void> = Promise.resolve();
  /** The latest term, until its listeners have finished. */
  private term: ElectionTerm | undefined;
  private readonly finishTimeout: number;
  /** What the candidate asks for with each acquisition. */
  private readonly asked: AcquireOptions;
  /** What metrics and events call its lock. */
  readonly pattern: string;
  /** How often the store has failed in a row. */
  private failures = 0;

  /** @throws LockConfigError for an option that cannot be used */
  constructor(
    private readonly parts: ElectionParts,
    readonly key: string,
    options: LeaderElectionOptions,
  ) {
    const { onElected, onDeposed, finishTimeout, ...asked } = OPTIONS.election.read('getLeaderElection', options);
    this.finishTimeout = finishTimeout;
    this.asked = asked;
    this.pattern = asked.pattern ?? key;
    if (onElected !== undefined) this.onElected(onElected);
    if (onDeposed !== undefined) this.onDeposed(onDeposed);
  }

  get isLeader(): boolean {
    return this.current !== undefined;
  }

  get handle(): LockHandle | undefined {
    return this.current?.handle;
  }

  get signal(): AbortSignal | undefined {
    return this.current?.controller.signal;
  }

  get fencingToken(): number | undefined {
    return this.current?.handle.fencingTokens.get(this.key);
  }

  start(): this {
    if (this.standing !== undefined) return this;
    const { left, parts } = this;
    parts.elections.add(this);
    const standing = new AbortController();
    this.standing = standing;
    this.left = outside(async () => {
      await left;
      await this.stand(standing.signal);
      if (this.standing === undefined) parts.elections.delete(this);
    });
    return this;
  }

  stop(): Promise<void> {
    this.standing?.abort();
    this.standing = undefined;
    if (this.term !== undefined) this.end(this.term, undefined);
    return this.left;
  }

  async resign(): Promise<boolean> {
    const term = this.current;
    if (term === undefined) return false;
    this.end(term, undefined);
    await term.released;
    return true;
  }

  onElected(listener: ElectedListener): () => void {
    return this.listen('onElected', listener);
  }

  onDeposed(listener: DeposedListener): () => void {
    return this.listen('onDeposed', listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** What a log shows of it. */
  toJSON(): { key: string; isLeader: boolean; fencingToken: number | undefined } {
    const { key, isLeader, fencingToken } = this;
    return { key, isLeader, fencingToken };
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `LeaderElection ${inspect(this.toJSON(), options)}`;
  }

  /** The term, as long as its lock is held: compares clocks instead of waiting for a timer. */
  private get current(): ElectionTerm | undefined {
    return this.term?.isOver === false && this.term.handle.isHeld ? this.term : undefined;
  }

  private async stand(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      await this.finishLastTerm(stopped);
      if (stopped.aborted) return;
      const handle = await this.campaign(stopped);
      if (handle !== undefined) await this.lead(handle, stopped);
    }
  }

  /**
   * Waits for the listeners of the last term, at most `finishTimeout`. If the candidate were elected again while they run, it
   * would do the work of the leader twice at the same time.
   */
  private async finishLastTerm(stopped: AbortSignal): Promise<void> {
    const { term } = this;
    if (term === undefined) return;
    const finished = await this.pause(this.finishTimeout, stopped, Promise.all([term.work, term.farewell]));
    if (stopped.aborted && !finished) return;
    this.term = undefined;
    if (finished) return;
    this.parts.context.logger.warn(
      `a term of the election of '${this.key}' ended ${this.finishTimeout} ms ago, and its onElected or onDeposed still ` +
        'runs: the candidate stands again, so two terms may overlap in this process. End the work when the signal of ' +
        'the term aborts, or set a longer finishTimeout',
    );
  }

  /** Waits for the lock; resolves to `undefined` after a failure. */
  private async campaign(stopped: AbortSignal): Promise<LockHandle | undefined> {
    const { parts, key } = this;
    const { clock } = parts.context;
    const since = clock.now();
    try {
      const handle = await parts.acquire(key, {
        expire: 0,
        maxRenewTimes: 0,
        holdAtLeast: 0,
        waitTimeout: Infinity,
        reentrant: false,
        signal: stopped,
        ...this.asked,
        pattern: this.pattern,
      });
      this.failures = 0;
      return handle;
    } catch (error) {
      if (isLockConfigError(error)) this.giveUp(error);
      else if (!stopped.aborted) await this.failed(error, clock.now() - since, stopped);
      return undefined;
    }
  }

  /** The options can never be met on this store. */
  private giveUp(error: LockConfigError): void {
    this.parts.context.logger.error(`cannot stand for election to lead '${this.key}': ${error.message}`);
    void this.stop();
  }

  /** Logs one line for each outage, however long it lasts. */
  private async failed(error: unknown, lasted: number, stopped: AbortSignal): Promise<void> {
    const { logger, random, limits } = this.parts.context;
    // Without a reply no attempt takes longer, so Redis has replied meanwhile.
    if (lasted > 2 * limits.commandTimeout) this.failures = 0;
    if (this.failures === 0) {
      logger.warn(`cannot stand for election to lead '${this.key}', trying again: ${messageOf(error)}`);
    }
    const delay = Math.min(FIRST_RETRY * 2 ** this.failures, LAST_RETRY) * (0.5 + random() / 2);
    this.failures += 1;
    await this.pause(delay, stopped);
  }

  private async lead(handle: LockHandle, stopped: AbortSignal): Promise<void> {
    const term = new ElectionTerm(handle);
    const over = term.controller.signal;
    // A candidate that was stopped while the reply was under way has not been elected.
    if (!stopped.aborted && handle.isHeld) {
      this.term = term;
      if (handle instanceof HeldLock) handle.onReleased = () => this.end(term, undefined);
      const lost = (): void => this.end(term, handle.signal.reason as LockLostError);
      handle.signal.addEventListener('abort', lost, { once: true });
      term.work = this.callAll('onElected', handle, over);
      await this.pause(Infinity, over);
      // The lock is held while the onDeposed listeners run, unless it was lost.
      await this.pause(HANDOVER, handle.signal, term.farewell);
      handle.signal.removeEventListener('abort', lost);
    }
    // Logs a failure, and never throws.
    await handle[Symbol.asyncDispose]();
    term.lockReleased();
  }

  /** From now on the candidate does not lead, whatever happens to the lock. */
  private end(term: ElectionTerm, error: LockLostError | undefined): void {
    if (term.isOver) return;
    term.controller.abort(error);
    term.farewell = this.callAll('onDeposed', error);
  }

  private listen(what: ListenerName, listener: unknown): () => void {
    const listeners = this.listeners[what];
    // In the async context of this call, not in that of the timer that notices the loss.
    const bound = AsyncResource.bind(read.listener(what, listener));
    listeners.add(bound);
    return () => void listeners.delete(bound);
  }

  /** Calls listeners of the user, which may throw or reject. */
  private callAll(what: ListenerName, ...args: unknown[]): Promise<unknown> {
    return Promise.all(
      [...this.listeners[what]].map(async (listener) => {
        try {
          await listener(...args);
        } catch (error) {
          this.parts.context.logger.error(`${what} of the election of '${this.key}' failed: ${messageOf(error)}`);
        }
      }),
    );
  }

  /** Waits for `ms`, or until `signal` aborts or `work` settles; resolves to whether `work` has settled. */
  private async pause(ms: number, signal: AbortSignal, work?: Promise<unknown>): Promise<boolean> {
    const { timers, clock } = this.parts.context;
    return settledBy(timers, { at: clock.now() + ms, signals: [signal] }, work);
  }
}

/** One term of a leader. */
class ElectionTerm {
  /** Aborts when the term ends, for whatever reason. */
  readonly controller = new AbortController();
  /** Settles when the `onElected` listeners of this term have finished. */
  work: Promise<unknown> = Promise.resolve();
  /** Settles when the `onDeposed` listeners of this term have finished. */
  farewell: Promise<unknown> = Promise.resolve();
  lockReleased!: () => void;
  /** Resolves when the lock has been released. */
  readonly released = new Promise<void>((resolve) => (this.lockReleased = resolve));

  constructor(readonly handle: LockHandle) {}

  get isOver(): boolean {
    return this.controller.signal.aborted;
  }
}
