import { traceAcquisition } from '../observation/diagnostics/index.js';
import type { Hold, HoldTerms } from '../engine/hold.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { upgradeRefused } from '../engine/upgrade.js';
import { LockConfigError, LockKeyError } from '../errors/index.js';
import { assertKey } from '../keys/index.js';
import { holeIn } from '../options/plain-options.js';
import type { AcquireOptions, RunOptions } from '../options/acquire-options.js';
import { HeldLock } from './handles/held-lock.js';
import { HeldLocks } from './handles/held-locks.js';
import { findInScope } from './lock-scope.js';
import { OptionWarnings } from '../options/option-warnings.js';
import { refuseUnknownOptions } from '../options/option-readers.js';
import { optionNames } from '../options/option-table.js';
import type { KeyHandle, OwnHandle } from './handles/own-handle.js';
import { OwnerHandles } from './handles/owner-handles.js';
import { resolveAcquireOptions, type AcquireDefaults, type AcquireTerms } from '../options/resolve-acquire-options.js';

/** Where a call gives none. */
export const NO_OPTIONS: AcquireOptions = Object.freeze(Object.create(null) as AcquireOptions);

/** How one key is taken: once more through a handle of the scope, or from the engine. */
interface Step {
  readonly key: string;
  readonly again: KeyHandle | undefined;
  /** The owner who has the key already, in a way that lets it in. */
  readonly owner: string | undefined;
}

/** Takes locks for a service: what the scopes around the caller hold is re-entered, the rest is asked of the engine. */
export class Acquirer {
  /** The handles of owners that callers named. */
  readonly owners = new OwnerHandles();
  /** What options come to that cannot change: those of decorated methods, and none. They are checked once. */
  private readonly resolved = new WeakMap<AcquireOptions, AcquireTerms>();

  /** What is allowed and probably a mistake, told once. */
  readonly warnings: OptionWarnings;

  constructor(
    private readonly engine: LockEngine,
    private readonly defaults: AcquireDefaults,
    /** The name of the module instance, for those who observe it. */
    private readonly instance: string,
  ) {
    this.warnings = new OptionWarnings((warning) => engine.logger.warn(warning));
  }

  /**
   * Before options are copied, which loses what is not their own.
   * @throws LockConfigError
   */
  check(label: string, options: AcquireOptions | RunOptions): void {
    if (!this.resolved.has(options as AcquireOptions)) refuseUnknownOptions(label, options, optionNames('acquire'));
  }

  /**
   * @param units how many permits, where `options.permits` says that there are some
   * @throws LockKeyError, LockConfigError, and whatever the engine throws
   */
  take(keys: string | readonly string[], options: AcquireOptions, units = 1): Promise<OwnHandle> {
    return this.taken(keys, options, units, (lock) => lock);
  }

  /** As `take`, with a handle that is found out when it is dropped: for those who release it themselves. */
  takeGuarded(keys: string | readonly string[], options: AcquireOptions, units = 1): Promise<OwnHandle> {
    return this.taken(keys, options, units, (lock) => lock.guardAgainstDropping());
  }

  /**
   * One key that the scopes around the caller hold alone, without waiting for anything; `undefined`: that is another case.
   */
  takeAgain(keys: string | readonly string[], options: AcquireOptions): OwnHandle | undefined {
    const terms = this.resolved.get(options);
    if (terms === undefined || typeof keys !== 'string' || !isPlain(terms, options)) return undefined;
    return this.partInScope(keys, ({ type }) => type === 'exclusive')?.reenter();
  }

  /** The innermost handle of these keys in the scopes around the caller. */
  inScope(keys: readonly string[], type: KeyHandle['type']): OwnHandle | undefined {
    const [key] = keys as [string];
    const part = this.partInScope(key, (lock) => lock.type === type);
    if (keys.length === 1 || part === undefined) return part;
    return findInScope((lock) => {
      // No more than these keys: who unlocks them frees nothing else.
      const same = lock.keys.length === keys.length && keys.every((name) => lock.part(name)?.engine === this.engine);
      return same && lock.isHeld && lock.type === type ? lock : undefined;
    });
  }

  /** Not an `async` function: what one keeps while it is waited for is a quarter of what a waiter costs. */
  private taken(
    keys: string | readonly string[],
    options: AcquireOptions,
    units: number,
    made: (lock: OwnHandle) => OwnHandle,
  ): Promise<OwnHandle> {
    try {
      const names = typeof keys === 'string' ? assertKey(keys) : readKeys(keys);
      const terms = this.termsOf(options, units);
      if (terms.mode.kind === 'permits') refuseWithoutPermits(this.engine);
      terms.signal?.throwIfAborted();
      const reentrant = options.reentrant !== false;
      // Read before anything is taken: what throws from here on would leave it behind.
      const { onLost } = options;
      if (onLost !== undefined && typeof onLost !== 'function') {
        throw new LockConfigError('onLost is something else each time it is read: write a plain object of options.');
      }
      const finish = (lock: OwnHandle): OwnHandle => {
        if (onLost !== undefined) lock.onLost(onLost);
        if (terms.owner !== undefined) this.owners.add(lock, terms.owner);
        return made(lock);
      };
      if (typeof names === 'string') return this.takeOne(this.stepFor(names, terms, reentrant), terms, finish);
      const steps = names.map((key) => this.stepFor(key, terms, reentrant));
      return this.takeSeveral(steps, terms).then(finish);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  private termsOf(options: AcquireOptions, units: number): AcquireTerms {
    const known = this.resolved.get(options);
    if (known !== undefined) return known;
    const terms = resolveAcquireOptions(options, this.defaults, units);
    this.warnings.about(terms.pattern ?? 'options of a lock', {
      expire: options.expire ?? this.defaults.expire,
      maxRenewTimes: options.maxRenewTimes,
      waitTimeout: options.waitTimeout,
    });
    if (options.permits === undefined && Object.isFrozen(options)) this.resolved.set(options, terms);
    return terms;
  }

  /** Whoever has a key alone may take it again, or read it as well; whoever reads may read again, but not write. */
  private stepFor(key: string, { mode, owner }: AcquireTerms, reentrant: boolean): Step {
    const step: Step = { key, again: undefined, owner };
    if (!reentrant || mode.kind === 'permits') return step;
    const find = (type: KeyHandle['type']): KeyHandle | undefined =>
      this.partInScope(key, (lock) => lock.type === type && (owner === undefined || owner === lock.owner));
    const alone = find('exclusive');
    if (mode.kind === 'exclusive' && alone !== undefined) return { ...step, again: alone };
    const reading = find('read');
    if (mode.kind === 'read') return { ...step, again: reading, owner: alone?.owner ?? owner };
    if (reading !== undefined) throw upgradeRefused(key);
    return step;
  }

  private partInScope(key: string, fits: (lock: KeyHandle) => boolean): KeyHandle | undefined {
    return findInScope((lock) => {
      const part = lock.part(key);
      return part?.engine === this.engine && part.isHeld && fits(part) ? part : undefined;
    });
  }

  /** What is re-entered alone is not told. */
  private takeOne(step: Step, terms: AcquireTerms, finish: (lock: OwnHandle) => OwnHandle): Promise<OwnHandle> {
    if (step.again !== undefined) return Promise.resolve(finish(step.again.reenter()));
    return this.observed([step], terms, () =>
      this.engine.acquire(holdTerms(step, terms), terms).then((hold) => finish(new HeldLock(hold, this.engine))),
    );
  }

  private takeSeveral(steps: readonly Step[], terms: AcquireTerms): Promise<OwnHandle> {
    if (steps.every(({ again }) => again !== undefined)) return this.takeAll(steps, terms);
    return this.observed(steps, terms, () => this.takeAll(steps, terms));
  }

  private observed(
    steps: readonly Step[],
    { pattern, mode, owner, waitTimeout }: AcquireTerms,
    go: () => Promise<OwnHandle>,
  ): Promise<OwnHandle> {
    return traceAcquisition(
      () => ({
        ...{ instance: this.instance, pattern, owner, waitTimeout, lockType: mode.kind },
        keys: steps.map(({ key }) => key),
      }),
      go,
    );
  }

  private async takeAll(steps: readonly Step[], terms: AcquireTerms): Promise<OwnHandle> {
    // Before anything is waited for, so that nobody ends meanwhile what is re-entered.
    const again = new Map(steps.map(({ key, again }) => [key, again?.reenter()]));
    const set = steps.filter((step) => step.again === undefined).map((step) => holdTerms(step, terms));
    try {
      const [first] = set;
      const holds =
        first === undefined
          ? []
          : set.length === 1
            ? [await this.engine.acquire(first, terms)]
            : await this.engine.acquireAll(set, terms);
      const taken = new Map(holds.map((hold) => [hold.key, hold]));
      for (const handle of again.values()) if (handle?.isHeld === false) await this.giveUp(holds, handle);
      const parts = steps.map(({ key }) => again.get(key) ?? new HeldLock(taken.get(key)!, this.engine));
      return parts.length === 1 ? parts[0]! : new HeldLocks(parts);
    } catch (error) {
      for (const handle of again.values()) await handle?.release();
      throw error;
    }
  }

  /**
   * What was re-entered has been lost while the rest was waited for.
   * @throws LockLostError
   */
  private async giveUp(holds: readonly Hold[], lost: KeyHandle): Promise<void> {
    for (const hold of holds) hold.terms = { ...hold.terms, holdAtLeast: 0 };
    await Promise.all(
      holds.map((hold) =>
        this.engine.release(hold).catch((error: unknown) => this.engine.reportFailedRelease(hold, error)),
      ),
    );
    lost.assertHeld();
  }
}

/** Nothing but that a key is wanted alone. */
const isPlain = ({ mode, owner, signal }: AcquireTerms, { reentrant, onLost }: AcquireOptions): boolean =>
  mode.kind === 'exclusive' &&
  owner === undefined &&
  signal === undefined &&
  reentrant !== false &&
  onLost === undefined;

/** Written out, which is several times as fast as a spread, and this is done for each acquisition. */
const holdTerms = ({ key, owner }: Step, terms: AcquireTerms): HoldTerms => ({
  key,
  owner,
  mode: terms.mode,
  fair: terms.fair,
  lease: terms.lease,
  renews: terms.renews,
  maxRenewTimes: terms.maxRenewTimes,
  holdAtLeast: terms.holdAtLeast,
  replicas: terms.replicas,
  pattern: terms.pattern,
});

/**
 * One key or several, each once.
 * @throws LockKeyError for one that cannot be used
 */
export function readKeys(keys: unknown): readonly string[] {
  if (!Array.isArray(keys)) return [assertKey(keys)];
  if (keys.length === 0) throw new LockKeyError('There is no key to lock: the list of keys is empty.');
  const hole = holeIn(keys);
  if (hole !== undefined) {
    throw new LockKeyError(`keys[${hole}] is missing: there are two commas in a row in the list, or it was deleted.`);
  }
  return [...new Set(keys.map(assertKey))];
}

/** @throws LockConfigError where the locks are kept by several independent masters */
export function refuseWithoutPermits({ keepsPermits }: LockEngine): void {
  if (keepsPermits) return;
  throw new LockConfigError(
    'Permits need one Redis that counts, and here the locks are kept by several independent ones (Redlock): set up a second ' +
      'instance on one of them, RedisLockModule.forRoot({ name, connection }), and take the permits there.',
  );
}
