import { acquisitions, type LockAcquisition } from '../observation/diagnostics/acquisition.js';
import { settledBy } from '../common/settle.js';
import type { Hold } from '../engine/hold.js';
import type { EngineContext } from '../engine/engine-context.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { upgradeRefused } from '../engine/refusals.js';
import { answerTime } from '../engine/waiter.js';
import { isLockTimeoutError, LockKeyError } from '../errors/index.js';
import { assertKey } from '../keys/index.js';
import { refuseHoles } from '../options/option-readers.js';
import type { AcquireOptions, AdoptOptions } from '../options/acquire-options.js';
import { offerId, readHandover } from './handles/handover-text.js';
import { HeldLock } from './handles/held-lock.js';
import { HeldLocks, type OwnHandle } from './handles/held-locks.js';
import { currentScope, findInScope } from './lock-scope.js';
import {
  OptionWarnings,
  CallReader,
  ONE_TRY,
  readAdoptCall,
  type AcquireDefaults,
  type AcquireTerms,
  type CallContext,
  type ReadCall,
} from '../options/resolve-acquire-options.js';
import { refuseLacking, refuseWithoutPermits } from './refused-features.js';
import { TimeoutReports } from './timeout-reports.js';
import { OwnerHandles } from './handles/owner-handles.js';

/** The options of a call that gives none. */
export const NO_OPTIONS: AcquireOptions = Object.freeze(Object.create(null) as AcquireOptions);

/** How one key is acquired: again through a handle of the scope, or from the engine. */
interface Step {
  readonly key: string;
  readonly again: HeldLock | undefined;
  /** Those of the call. A holder that reads as well asks as the owner of its hold. */
  readonly terms: AcquireTerms;
}

/** Acquires locks for a service: re-enters what the scopes around the caller hold, and asks the engine for the rest. */
export class Acquirer {
  /** The handles of named owners. */
  readonly owners = new OwnerHandles();
  /** Warnings about options that are allowed and probably a mistake, logged once. */
  readonly warnings: OptionWarnings;
  /** The options of `run`. */
  readonly runCalls: CallReader;
  private readonly acquireCalls: CallReader;
  private readonly tryCalls: CallReader;
  private readonly timeouts: TimeoutReports;

  constructor(
    private readonly engine: LockEngine,
    private readonly context: EngineContext,
    private readonly defaults: AcquireDefaults,
    /** The name of the module instance, for observers. */
    private readonly instance: string,
  ) {
    this.timeouts = new TimeoutReports(engine, context);
    this.warnings = new OptionWarnings((warning) => context.logger.warn(warning));
    this.acquireCalls = new CallReader('acquire', 'acquire', defaults, this.warnings);
    this.tryCalls = new CallReader('acquire', 'tryAcquire', defaults, this.warnings);
    this.runCalls = new CallReader('run', 'run', defaults, this.warnings);
  }

  /**
   * Acquires one key or several.
   * @throws LockKeyError, LockConfigError, and what `LockEngine.acquire` throws
   */
  acquire(keys: string | readonly string[], options: AcquireOptions, context?: CallContext): Promise<OwnHandle> {
    return this.acquireGuarded(keys, () => this.acquireCalls.read(options, context));
  }

  /**
   * Like `acquire`, with one try unless the options give a `waitTimeout`. Resolves to `null` if other callers hold the lock.
   */
  tryAcquire(
    keys: string | readonly string[],
    options: AcquireOptions,
    context: CallContext = ONE_TRY,
  ): Promise<OwnHandle | null> {
    return this.acquireGuarded(keys, () => this.tryCalls.read(options, context)).catch((error: unknown) => {
      if (isLockTimeoutError(error)) return null;
      throw error;
    });
  }

  /**
   * Takes over the lock that another process has handed over.
   * @throws LockConfigError for another text or option, and what `Handovers.adopt` rejects with
   */
  async adopt(text: string, options: AdoptOptions): Promise<OwnHandle> {
    const { key, nonce, mode } = readHandover(text);
    const { terms, onLost } = readAdoptCall(options, this.defaults, mode);
    if (mode.kind === 'permits') refuseWithoutPermits(this.engine);
    const hold = await this.engine.handovers.adopt(key, terms, offerId(nonce));
    const lock = new HeldLock(hold, this.engine);
    if (onLost !== undefined) lock.onLost(onLost);
    return lock.guardAgainstDropping();
  }

  /** The innermost handle of these keys in the scopes around the caller. */
  inScope(keys: readonly string[], kind: HeldLock['kind']): OwnHandle | undefined {
    const [key] = keys as [string];
    const part = this.partInScope(key, (lock) => lock.kind === kind);
    if (keys.length === 1 || part === undefined) return part;
    return findInScope((lock) => {
      // Exactly these keys, so that unlocking them frees no other key.
      const same = lock.keys.length === keys.length && keys.every((name) => lock.part(name)?.engine === this.engine);
      return same && lock.isHeld && lock.kind === kind ? lock : undefined;
    });
  }

  /** For callers that release the handle themselves: a handle that is dropped without it is detected. */
  private acquireGuarded(keys: string | readonly string[], read: () => ReadCall): Promise<OwnHandle> {
    try {
      const call = read();
      const { onLost } = call;
      const lock = this.take(keys, call, (taken) => {
        if (typeof onLost === 'function') taken.onLost(onLost);
        taken.guardAgainstDropping();
      });
      return Promise.resolve(lock);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Acquires one key or several, for a caller that releases the handle in any case. A call that only re-enters one key gets its
   * handle at once, and publishes nothing. Not an `async` function: its frame would be a quarter of the memory of a waiter.
   * @param finish is called with the handle before the caller gets it
   * @throws as `acquire`, and LockKeyError at once
   */
  take(
    keys: string | readonly string[],
    { terms, reentrant }: Pick<ReadCall, 'terms' | 'reentrant'>,
    finish?: (lock: OwnHandle) => void,
  ): OwnHandle | Promise<OwnHandle> {
    terms.signal?.throwIfAborted();
    if (this.engine.lacks !== undefined) refuseLacking(this.engine, terms);
    if (terms.mode.kind === 'permits') refuseWithoutPermits(this.engine);
    const one = typeof keys === 'string' ? this.stepFor(keys, terms, reentrant) : undefined;
    if (one?.again !== undefined) return this.finished(one.again.reenter(), terms, finish);
    const steps = one === undefined ? readKeys(keys).map((key) => this.stepFor(key, terms, reentrant)) : [one];
    if (one !== undefined) assertKey(one.key);
    const own = steps.length === 1 ? steps[0]!.terms : terms;
    const isObserved = acquisitions.hasSubscribers && steps.some(({ again }) => again === undefined);
    if (!isObserved) return this.request(steps, own, terms, finish);
    return acquisitions.tracePromise(() => this.request(steps, own, terms, finish), this.described(steps, own));
  }

  /** Requests what is not re-entered. `own`: what a call for one key asks for. */
  private request(
    steps: readonly Step[],
    own: AcquireTerms,
    terms: AcquireTerms,
    finish?: (lock: OwnHandle) => void,
  ): Promise<OwnHandle> {
    const { engine } = this;
    const since = this.context.clock.now();
    const failed = (error: unknown): Promise<never> => this.timeouts.explain(error, steps, own, since);
    if (steps.length > 1 || steps[0]!.again !== undefined) {
      return this.acquireAll(steps, terms).then((lock) => this.finished(lock, terms, finish), failed);
    }
    return engine
      .acquire(steps[0]!.key, own, own)
      .then((hold) => this.finished(new HeldLock(hold, engine), terms, finish), failed);
  }

  private finished(lock: OwnHandle, { owner }: AcquireTerms, finish?: (lock: OwnHandle) => void): OwnHandle {
    if (owner !== undefined) this.owners.add(lock, owner);
    finish?.(lock);
    return lock;
  }

  /** An exclusive holder may acquire the key again, or read it as well. A reader may read again, but not write. */
  private stepFor(key: string, terms: AcquireTerms, reentrant: boolean): Step {
    const { mode, owner } = terms;
    if (!reentrant || mode.kind === 'permits' || currentScope() === undefined) return { key, again: undefined, terms };
    const find = (kind: HeldLock['kind']): HeldLock | undefined =>
      this.partInScope(key, (lock) => lock.kind === kind && (owner === undefined || owner === lock.owner));
    const alone = find('exclusive');
    if (mode.kind === 'exclusive' && alone !== undefined) return { key, again: alone, terms };
    const reading = find('read');
    if (mode.kind === 'read') return { key, again: reading, terms: { ...terms, owner: alone?.owner ?? owner } };
    if (reading !== undefined) throw upgradeRefused(key);
    return { key, again: undefined, terms };
  }

  private partInScope(key: string, fits: (lock: HeldLock) => boolean): HeldLock | undefined {
    return findInScope((lock) => {
      const part = lock.part(key);
      return part?.engine === this.engine && part.isHeld && fits(part) ? part : undefined;
    });
  }

  /** The message to observers about an acquisition. */
  private described(steps: readonly Step[], terms: AcquireTerms): LockAcquisition {
    const { engine, instance } = this;
    const keys = steps.map(({ key }) => key);
    const { pattern, method, mode, owner, waitTimeout, optional = false } = terms;
    return {
      ...{ instance, keys, pattern, method, owner, waitTimeout, optional, kind: mode.kind },
      get isClosing() {
        return engine.isClosing;
      },
    };
  }

  private async acquireAll(steps: readonly Step[], terms: AcquireTerms): Promise<OwnHandle> {
    // Re-enter first, so that the scope cannot release these keys while the call waits for the others.
    const again = new Map(steps.map(({ key, again }) => [key, again?.reenter()]));
    const set = steps.filter(({ again }) => again === undefined);
    try {
      const [first] = set;
      const holds =
        first === undefined
          ? []
          : set.length === 1
            ? [await this.engine.acquire(first.key, first.terms, terms)]
            : await this.engine.acquireAll(set, terms);
      const taken = new Map(holds.map((hold) => [hold.key, hold]));
      for (const handle of again.values()) if (handle?.isHeld === false) await this.releaseAll(holds, handle);
      const parts = steps.map(({ key }) => again.get(key) ?? new HeldLock(taken.get(key)!, this.engine));
      return parts.length === 1 ? parts[0]! : new HeldLocks(parts);
    } catch (error) {
      // The scope may have ended meanwhile, so this may send a release.
      await this.answered([...again.values()].map(async (handle) => handle?.[Symbol.asyncDispose]()));
      throw error;
    }
  }

  /**
   * Releases new holds, since a re-entered lock was lost while the call waited for them.
   * @throws LockLostError
   */
  private async releaseAll(holds: readonly Hold[], lost: HeldLock): Promise<void> {
    for (const hold of holds) hold.keepFor(0);
    await this.answered(holds.map((hold) => this.engine.releases.releaseInBackground(hold)));
    lost.assertHeld();
  }

  /** Waits for the answers to releases, no longer than a call may take behind its deadline. They continue without it. */
  private async answered(releases: ReadonlyArray<Promise<unknown>>): Promise<void> {
    const { timers, clock, limits } = this.context;
    const at = clock.now() + answerTime(limits.commandTimeout);
    await settledBy(timers, { at, isAnswer: true }, Promise.allSettled(releases));
  }
}

/**
 * Reads one key or several; drops duplicates.
 * @throws LockKeyError for a key that cannot be used
 */
export function readKeys(keys: unknown): readonly string[] {
  if (!Array.isArray(keys)) return [assertKey(keys)];
  if (keys.length === 0)
    throw new LockKeyError('There is no key to lock: the list of keys is empty. Name at least one key.');
  refuseHoles('keys', keys, LockKeyError);
  return [...new Set(keys.map(assertKey))];
}
