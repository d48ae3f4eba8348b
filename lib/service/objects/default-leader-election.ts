import { AsyncResource } from 'node:async_hooks';
import { inspect, type InspectOptions } from 'node:util';
import { listenToAbort } from '../../common/abort.js';
import type { Agenda } from '../../common/agenda.js';
import type { Clock } from '../../common/clock.js';
import type { LockLogger } from '../../common/logger.js';
import { outside } from '../../common/outside.js';
import { isLockConfigError, type LockConfigError, type LockLostError } from '../../errors/index.js';
import type { AcquireOptions } from '../../options/acquire-options.js';
import { HeldLock } from '../handles/held-lock.js';
import type { DeposedListener, ElectedListener, LeaderElection, LeaderElectionOptions } from './leader-election.js';
import type { LockHandle } from '../handles/lock-handle.js';
import { readListener, refuseUnknownOptions } from '../../options/option-readers.js';
import { optionNames, readOptions } from '../../options/option-table.js';

/** After a failure a candidate tries again after about so many ms, and later the more often that happened. */
const FIRST_RETRY = 250;
const LAST_RETRY = 2_000;
/** How many ms a leader's clean-up may hold up the next one. */
const HANDOVER = 5_000;
/** Default of `finishTimeout`, in ms. */
const FINISH = 30_000;

/** What an election needs from its surroundings. */
export interface ElectionEnvironment {
  readonly clock: Clock;
  readonly agenda: Agenda;
  readonly random: () => number;
  readonly logger: LockLogger;
  /** ms */
  readonly commandTimeout: number;
  acquire(key: string, options: AcquireOptions): Promise<LockHandle>;
  /**
   * The election is to be stopped at shutdown.
   * @throws LockStoreError when that has begun
   */
  begun(election: DefaultLeaderElection): void;
  /** It has been stopped. */
  ended(election: DefaultLeaderElection): void;
}

/** One stretch of leadership. */
class Term {
  /** Aborts when the term ends, whichever way. */
  readonly controller = new AbortController();
  /** Settles when the `onElected` listeners of this term have finished. */
  work: Promise<unknown> = Promise.resolve();
  /** Settles when the `onDeposed` listeners of this term have finished. */
  farewell: Promise<unknown> = Promise.resolve();
  /** Resolves when the lock has been given back. */
  readonly given: Promise<void>;
  giveBack!: () => void;

  constructor(readonly handle: LockHandle) {
    this.given = new Promise((resolve) => (this.giveBack = resolve));
  }

  get isOver(): boolean {
    return this.controller.signal.aborted;
  }
}

/** A candidate: waits for the lock of its key for as long as it stands, and leads while it holds it. */
export class DefaultLeaderElection implements LeaderElection {
  private readonly electedListeners = new Set<ElectedListener>();
  private readonly deposedListeners = new Set<DeposedListener>();
  /** Aborts when it stops; `undefined`: it does not stand. */
  private standing: AbortController | undefined;
  /** Resolves when it has left everything in which it stood so far. */
  private left: Promise<void> = Promise.resolve();
  private term: Term | undefined;
  /** The latest term whose listeners may still be running. */
  private unfinished: Term | undefined;
  private readonly finishTimeout: number;
  /** What the candidate asks for with each acquisition. */
  private readonly asked: AcquireOptions;
  /** How often the store has failed in a row. */
  private failures = 0;

  /** @throws LockConfigError for an option that cannot be used */
  constructor(
    private readonly environment: ElectionEnvironment,
    readonly key: string,
    options: LeaderElectionOptions,
  ) {
    refuseUnknownOptions('getLeaderElection', options, optionNames('election'));
    const { onElected, onDeposed, finishTimeout = FINISH, ...asked } = readOptions('election', options);
    this.finishTimeout = finishTimeout;
    this.asked = asked;
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
    return this.current?.handle.fencingToken;
  }

  start(): this {
    if (this.standing !== undefined) return this;
    this.environment.begun(this);
    const { left, environment } = this;
    const standing = new AbortController();
    this.standing = standing;
    this.left = outside(async () => {
      await left;
      await this.stand(standing.signal);
      if (this.standing === undefined) environment.ended(this);
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
    await term.given;
    return true;
  }

  onElected(listener: ElectedListener): () => void {
    return addTo(this.electedListeners, readListener('onElected', listener) as ElectedListener);
  }

  onDeposed(listener: DeposedListener): () => void {
    return addTo(this.deposedListeners, readListener('onDeposed', listener) as DeposedListener);
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

  /** The term, as long as its lock is held: by the clock, not by timers. */
  private get current(): Term | undefined {
    return this.term?.handle.isHeld ? this.term : undefined;
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
   * Waits for the listeners of the last term, at most `finishTimeout`. A candidate that was elected again while they run
   * would do the leader's work twice at the same time.
   */
  private async finishLastTerm(stopped: AbortSignal): Promise<void> {
    const term = this.unfinished;
    if (term === undefined) return;
    let finished = false;
    const work = Promise.all([term.work, term.farewell]).then(() => void (finished = true));
    await this.pause(this.finishTimeout, stopped, work);
    if (stopped.aborted && !finished) return;
    this.unfinished = undefined;
    if (finished) return;
    this.environment.logger.warn(
      `a term of the election of '${this.key}' ended ${this.finishTimeout} ms ago, and its onElected or onDeposed still ` +
        'runs: the candidate stands again, so two terms may overlap in this process. End the work when the signal of ' +
        'the term aborts, or set a longer finishTimeout',
    );
  }

  /** Waits for the lock; `undefined`: not this time. */
  private async campaign(stopped: AbortSignal): Promise<LockHandle | undefined> {
    const { environment, key } = this;
    const since = environment.clock.now();
    try {
      const handle = await environment.acquire(key, {
        expire: 0,
        maxRenewTimes: 0,
        waitTimeout: Infinity,
        reentrant: false,
        signal: stopped,
        ...this.asked,
      });
      this.failures = 0;
      return handle;
    } catch (error) {
      if (isLockConfigError(error)) this.giveUp(error);
      else if (!stopped.aborted) await this.failed(error, environment.clock.now() - since, stopped);
      return undefined;
    }
  }

  /** What cannot be met on this store will never be. */
  private giveUp(error: LockConfigError): void {
    this.environment.logger.error(`cannot stand for election to lead '${this.key}': ${error.message}`);
    void this.stop();
  }

  /** One line for each outage, however long it takes. */
  private async failed(error: unknown, lasted: number, stopped: AbortSignal): Promise<void> {
    const { logger, random, commandTimeout } = this.environment;
    // On a Redis that does not answer no attempt takes longer: so it had answered in between.
    if (lasted > 2 * commandTimeout) this.failures = 0;
    if (this.failures === 0) {
      logger.warn(`cannot stand for election to lead '${this.key}', trying again: ${messageOf(error)}`);
    }
    const delay = Math.min(FIRST_RETRY * 2 ** this.failures, LAST_RETRY) * (0.5 + random() / 2);
    this.failures += 1;
    await this.pause(delay, stopped);
  }

  private async lead(handle: LockHandle, stopped: AbortSignal): Promise<void> {
    const term = new Term(handle);
    const over = term.controller.signal;
    // Whoever was stopped while the answer was on its way has not been elected.
    if (!stopped.aborted && handle.isHeld) {
      this.term = term;
      this.unfinished = term;
      if (handle instanceof HeldLock) handle.onReleased = () => this.end(term, undefined);
      const lost = (): void => this.end(term, handle.signal.reason as LockLostError);
      handle.signal.addEventListener('abort', lost, { once: true });
      term.work = this.tell('onElected', this.electedListeners, (listener) => listener(handle, over));
      await aborted(over);
      // It is held while its leader puts things in order; unless it has been lost.
      await this.pause(HANDOVER, handle.signal, term.farewell);
      handle.signal.removeEventListener('abort', lost);
    }
    // Reports what fails, and never throws.
    await handle[Symbol.asyncDispose]();
    term.giveBack();
  }

  /** From here on it does not lead, whatever becomes of the lock. */
  private end(term: Term, error: LockLostError | undefined): void {
    if (term.isOver) return;
    if (this.term === term) this.term = undefined;
    term.controller.abort(error);
    term.farewell = this.tell('onDeposed', this.deposedListeners, (listener) => listener(error));
  }

  /** Calls listeners of the user's, which may throw or reject. */
  private tell<Listener>(
    what: string,
    listeners: Set<Listener>,
    call: (listener: Listener) => unknown,
  ): Promise<unknown> {
    return Promise.all(
      [...listeners].map(async (listener) => {
        try {
          await call(listener);
        } catch (error) {
          this.environment.logger.error(`${what} of the election of '${this.key}' failed: ${messageOf(error)}`);
        }
      }),
    );
  }

  /** Resolves after `ms`, when `signal` aborts, or when there is nothing more to wait for. */
  private async pause(ms: number, signal: AbortSignal, work?: Promise<unknown>): Promise<void> {
    if (signal.aborted) return;
    const { agenda, clock } = this.environment;
    await new Promise<void>((resolve) => {
      const appointment = agenda.add(clock.now() + ms, () => done());
      const stopListening = listenToAbort(signal, () => done());
      const done = (): void => {
        agenda.cancel(appointment);
        stopListening();
        resolve();
      };
      void work?.then(done);
    });
  }
}

function addTo<Listener extends (...args: any[]) => unknown>(listeners: Set<Listener>, listener: Listener) {
  // In the context of whoever asks for it, not in the scope of whatever lock the timer that calls it was made in.
  const bound = AsyncResource.bind(listener);
  listeners.add(bound);
  return () => void listeners.delete(bound);
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
