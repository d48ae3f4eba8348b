import { acquisitions, type LockAcquisition } from '../observation/diagnostics/acquisition.js';
import { Hold } from '../engine/hold.js';
import type { EngineContext } from '../engine/engine-context.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { upgradeRefused } from '../engine/refusals.js';
import { awaitReplies } from '../engine/waiter.js';
import { isLockTimeoutError, LockKeyError } from '../errors/index.js';
import { assertKey } from '../keys/index.js';
import { OPTIONS } from '../options/option-table.js';
import type { AcquireOptions, AdoptOptions } from '../options/acquire-options.js';
import { offerId, readHandover } from './handles/handover-text.js';
import { HeldLock } from './handles/held-lock.js';
import { currentScope, findHold, findInScope } from './lock-scope.js';
import {
  OptionWarnings,
  CallReader,
  NO_CONTEXT,
  ONE_TRY,
  type CallDefaults,
  type AcquireTerms,
  type CallContext,
  type ReadCall,
} from '../options/resolve-acquire-options.js';
import { refuseFeature, refuseLacking } from './refused-features.js';
import { TimeoutReports } from './timeout-reports.js';
import { OwnerHandles } from './handles/owner-handles.js';

/** The options of a call that gives none. */
export const NO_OPTIONS: AcquireOptions = Object.freeze(Object.create(null) as AcquireOptions);

/** A key that was checked, or several different ones. */
export type Keys = string | readonly string[];

/** What a call for a key gets in the scopes around it: a hold that it re-enters, or a hold of its own by these terms. */
type Step = Hold | AcquireTerms;

const NO_STEPS: readonly Step[] = Object.freeze([]);

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
    defaults: CallDefaults,
    /** The name of the module instance, for observers. */
    private readonly instance: string,
  ) {
    // At the start, and not at the first call.
    if (defaults.replicas !== undefined) refuseFeature(engine, 'replicas');
    if (defaults.holdAtLeast > 0) refuseFeature(engine, 'holdAtLeast');
    this.timeouts = new TimeoutReports(engine, context);
    this.warnings = new OptionWarnings((warning) => context.logger.warn(warning));
    this.acquireCalls = new CallReader('acquire', 'acquire', defaults, this.warnings);
    this.tryCalls = new CallReader('acquire', 'tryAcquire', defaults, this.warnings);
    this.runCalls = new CallReader('run', 'run', defaults, this.warnings);
  }

  /**
   * Acquires one key or several, for a caller that releases the handle itself.
   * @throws LockKeyError, LockConfigError, and what `LockEngine.acquire` throws
   */
  acquire(
    keys: string | readonly string[],
    options: AcquireOptions,
    context?: CallContext,
    calls = this.acquireCalls,
  ): Promise<HeldLock> {
    try {
      const call = calls.read(options, context);
      return Promise.resolve(this.take(readKeys(keys), call));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Like `acquire`, with one try unless the options give a `waitTimeout`. Resolves to `null` if other callers hold the lock.
   */
  tryAcquire(
    keys: string | readonly string[],
    options: AcquireOptions,
    context: CallContext = ONE_TRY,
  ): Promise<HeldLock | null> {
    return this.acquire(keys, options, context, this.tryCalls).catch((error: unknown) => {
      if (isLockTimeoutError(error)) return null;
      throw error;
    });
  }

  /**
   * Takes over the lock that another process has handed over.
   * @throws LockConfigError for another text or option, and what `Handovers.adopt` rejects with
   */
  async adopt(text: string, options: AdoptOptions): Promise<HeldLock> {
    const { key, nonce, mode } = readHandover(text);
    OPTIONS.adopt.check('adopt', options);
    const call = this.acquireCalls.read({ ...options }, { ...NO_CONTEXT, mode });
    if (mode.kind === 'permits') refuseFeature(this.engine, 'permits');
    return this.taken(await this.engine.handovers.adopt(key, call.terms, offerId(nonce)), call);
  }

  /** How the scopes around the caller hold these keys: the hold of one key, or those of the handle of exactly these keys. */
  inScope(keys: readonly string[], kind: HeldLock['kind']): readonly Hold[] | undefined {
    if (keys.length === 1) {
      const hold = findHold(this.engine, keys[0]!, (each) => isOfKind(each, kind));
      return hold && [hold];
    }
    return findInScope((lock) => {
      if (lock.engine !== this.engine || lock.holds.length !== keys.length) return undefined;
      // Exactly these keys, so that unlocking them frees no other key.
      const isOfThese = keys.every((key) => lock.holdOf(key) !== undefined);
      return isOfThese && lock.isHeld && lock.kind === kind ? lock.holds : undefined;
    });
  }

  /**
   * Acquires one key or several. A call that only re-enters gets its handle at once, and publishes nothing. Not an `async`
   * function: its frame would be a quarter of the memory of a waiter.
   * @throws as `acquire`, also at once
   */
  take(keys: Keys, call: ReadCall): HeldLock | Promise<HeldLock> {
    const { engine } = this;
    const { terms } = call;
    terms.signal?.throwIfAborted();
    if (engine.lacks !== undefined) refuseLacking(engine, terms);
    const isInScope = call.reentrant && terms.mode.kind !== 'permits' && currentScope() !== undefined;
    let own = terms;
    let steps = NO_STEPS;
    if (typeof keys === 'string') {
      const step = isInScope ? this.stepFor(keys, terms) : terms;
      if (step instanceof Hold) return this.taken(step, call);
      own = step;
    } else {
      steps = keys.map((key) => (isInScope ? this.stepFor(key, terms) : terms));
      if (steps.every((step) => step instanceof Hold)) return this.taken(this.handleOf(steps), call);
    }
    return acquisitions.hasSubscribers ? this.traced(keys, steps, own, call) : this.request(keys, steps, own, call);
  }

  /** An exclusive holder may acquire the key again, or read it as well. A reader may read again, but not write. */
  private stepFor(key: string, terms: AcquireTerms): Step {
    const { mode, owner } = terms;
    const find = (kind: HeldLock['kind']): Hold | undefined =>
      findHold(this.engine, key, (hold) => isOfKind(hold, kind) && (owner === undefined || owner === hold.owner));
    const alone = find('exclusive');
    if (mode.kind === 'exclusive' && alone !== undefined) return alone;
    const reading = find('read');
    if (mode.kind === 'read')
      return reading ?? (alone === undefined ? terms : { ...terms, owner: alone.exposeOwner() });
    if (reading !== undefined) throw upgradeRefused(key);
    return terms;
  }

  /** Asks for what is not re-entered, and explains a failure. `steps`: of several keys. */
  private request(keys: Keys, steps: readonly Step[], terms: AcquireTerms, call: ReadCall): Promise<HeldLock> {
    const since = this.context.clock.now();
    const granted: Promise<Hold | HeldLock> =
      typeof keys === 'string' ? this.engine.acquire(keys, terms, terms) : this.acquireAll(keys, steps, terms);
    return granted.then(
      (lock) => this.taken(lock, call),
      (error: unknown) => this.timeouts.explain(error, keys, terms, since),
    );
  }

  /** Like `request`, and shows it to observers. */
  private traced(keys: Keys, steps: readonly Step[], terms: AcquireTerms, call: ReadCall): Promise<HeldLock> {
    const { engine, instance } = this;
    const { pattern, method, mode, owner, waitTimeout, optional = false } = terms;
    const message: LockAcquisition = {
      ...{ instance, keys: [keys].flat(), pattern, method, owner, waitTimeout, optional, kind: mode.kind },
      get isClosing() {
        return engine.isClosing;
      },
    };
    return acquisitions.tracePromise(() => this.request(keys, steps, terms, call), message);
  }

  /** The handle that a caller gets. */
  private taken(granted: Hold | HeldLock, { terms, onLost, isGuarded }: ReadCall): HeldLock {
    const lock = granted instanceof Hold ? new HeldLock(granted, this.engine) : granted;
    if (terms.owner !== undefined) this.owners.add(lock, terms.owner);
    if (typeof onLost === 'function') lock.onLost(onLost);
    return isGuarded ? lock.guardAgainstDropping() : lock;
  }

  private async acquireAll(keys: readonly string[], steps: readonly Step[], wait: AcquireTerms): Promise<HeldLock> {
    const { engine } = this;
    const known = steps.filter((step) => step instanceof Hold);
    // Re-enter first, so that the scope cannot release these keys while the call waits for the others.
    const again = known.length === 0 ? undefined : this.handleOf(known);
    const set = keys.flatMap((key, i) => {
      const terms = steps[i]!;
      return terms instanceof Hold ? [] : [{ key, terms }];
    });
    try {
      const [one] = set;
      const granted =
        one !== undefined && set.length === 1
          ? [await engine.acquire(one.key, one.terms, wait)]
          : await engine.acquireAll(set, wait);
      if (again?.isHeld === false) await this.releaseAll(granted, again);
      const lock = this.handleOf(steps.map((step) => (step instanceof Hold ? step : granted.shift()!)));
      again?.releaseInBackground();
      return lock;
    } catch (error) {
      // The scope may have ended meanwhile, so this may send a release.
      if (again !== undefined) await awaitReplies(this.context, again[Symbol.asyncDispose]());
      throw error;
    }
  }

  private handleOf([first, ...others]: readonly Hold[]): HeldLock {
    return new HeldLock(first!, this.engine, others);
  }

  /**
   * Releases new holds, since a re-entered lock was lost while the call waited for them.
   * @throws LockLostError
   */
  private async releaseAll(holds: readonly Hold[], lost: HeldLock): Promise<void> {
    for (const hold of holds) hold.keepFor(0);
    const released = holds.map(async (hold) => this.engine.releases.releaseInBackground(hold));
    await awaitReplies(this.context, Promise.allSettled(released));
    lost.assertHeld();
  }
}

const isOfKind = ({ terms }: Hold, kind: HeldLock['kind']): boolean => terms.mode.kind === kind;

/**
 * Reads one key or several; drops duplicates.
 * @throws LockKeyError for a key that cannot be used
 */
export function readKeys(keys: unknown): Keys {
  if (!Array.isArray(keys)) return assertKey(keys);
  if (keys.length === 0)
    throw new LockKeyError('There is no key to lock: the list of keys is empty. Name at least one key.');
  // `map` would skip a hole in the list.
  return distinct(Array.from(keys, assertKey));
}

/** Drops duplicates of keys. */
export function distinct(keys: readonly string[]): Keys {
  const different = [...new Set(keys)];
  return different.length === 1 ? different[0]! : different;
}
