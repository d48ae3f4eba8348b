import type { Hold, HoldTerms } from '../../../lib/engine/hold.js';
import {
  isLockConfigError,
  isLockLostError,
  isLockStoreError,
  isLockTimeoutError,
  LockLostError,
} from '../../../lib/errors/index.js';
import { HeldLock } from '../../../lib/service/handles/held-lock.js';
import type { ObservedHold } from '../checker/observed-hold.js';
import { Violation } from '../checker/violation.js';
import { slackOf } from '../checker/waiting.js';
import type { RunParts } from '../run-parts.js';
import { KEYS, PERMITS, TIMES, type Visit } from '../schedule/schedule.js';
import type { Process } from '../world/process.js';

/** The locks that a caller holds in its section. */
export interface Held {
  readonly handles: HeldLock[];
  readonly observedHolds: ObservedHold[];
}

/** The terms of a hold, as most are. */
export const PLAIN: HoldTerms = {
  ...{ mode: { kind: 'exclusive' }, lease: TIMES.lease, renews: true, maxRenewTimes: 0, owner: undefined },
  ...{ fair: false, holdAtLeast: 0, replicas: undefined, pattern: undefined },
};

/** The reason with which a caller aborts its wait. */
const ENOUGH = new Error('enough');
/** ms; in a longer section much can happen. */
const LONG = 8;

/** One caller of one process, for one section. */
export class Caller {
  private readonly signals = new Map<HeldLock, AbortSignal>();

  constructor(
    readonly process: Process,
    readonly visit: Visit,
    readonly run: RunParts,
  ) {}

  /** Acquires keys. The checker sees each result at once. */
  async take(keys: readonly string[], terms: HoldTerms, waitTimeout: number, signal = this.signal()): Promise<Held> {
    const { process, visit } = this;
    const { world, checker, trace } = this.run;
    const asked = world.now;
    const floors = keys.map((key) => checker.tokens.floor(key, terms.mode.kind));
    const slack =
      waitTimeout === Infinity
        ? 0
        : slackOf(waitTimeout, keys.length, visit.replicas, process.store.replyTime) / process.machine.rate;
    const waiting = { process, keys, until: asked + waitTimeout / process.machine.rate + slack, slack };
    checker.waiting.begin(waiting);
    const wait = { waitTimeout, signal };
    trace(() => `${process.name} asks for ${keys.join(', ')}: ${terms.mode.kind}`);
    try {
      const { engine } = process;
      const [key, ...others] = keys as [string, ...string[]];
      const all = keys.map((each) => ({ key: each, terms }));
      const holds = others.length === 0 ? [await engine.acquire(key, terms, wait)] : await engine.acquireAll(all, wait);
      const handles = holds.map((hold) => new HeldLock(hold, process.engine));
      // A signal is expensive compared with the rest, so not every visit has one.
      if (visit.act !== 'nothing' || visit.section > LONG) {
        for (const handle of handles) this.signals.set(handle, handle.signal);
      }
      const observedHolds = holds.map((hold, i) => {
        trace(() => `${process.name} has ${hold.key} with token ${hold.token} (${hold.id})`);
        return checker.granted(hold, process, floors[i]!);
      });
      return { handles, observedHolds };
    } catch (error) {
      if (waitTimeout === 0 && keys.length === 1 && isLockTimeoutError(error)) checker.tries.refused(keys[0]!, asked);
      throw error;
    } finally {
      checker.waiting.end(waiting);
    }
  }

  /** Releases all locks. After a loss, no handle may report its lock as held. */
  async releaseAll({ handles, observedHolds }: Held): Promise<void> {
    await Promise.all(handles.map((handle, i) => this.releaseOne(handle, observedHolds[i]!)));
  }

  terms(): HoldTerms {
    const { kind, units, owner, lease, holdAtLeast, replicas } = this.visit;
    return {
      ...PLAIN,
      ...(kind === 'permits' && { mode: { kind, units, limit: PERMITS } }),
      ...(kind === 'read' && { mode: { kind } }),
      ...(lease === 'long' && { lease: 2 * TIMES.lease }),
      ...{ renews: lease !== 'fixed', maxRenewTimes: lease === 'counted' ? 1 : 0, holdAtLeast },
      ...{ fair: kind === 'fair', owner: kind === 'permits' ? undefined : owner },
      ...(replicas && { replicas: { min: 1, timeout: TIMES.replicaTimeout } }),
    };
  }

  get keys(): readonly string[] {
    return this.visit.keys.map((place) => KEYS[place]!);
  }

  private signal(): AbortSignal | undefined {
    const { abortAfter } = this.visit;
    if (abortAfter === undefined) return undefined;
    const controller = new AbortController();
    this.process.callersClock.setTimer(abortAfter, () => controller.abort(ENOUGH));
    return controller.signal;
  }

  /** The errors that a caller may receive instead of a lock. */
  refused(error: unknown): void {
    const { outcomes, checker, trace } = this.run;
    const { process, visit } = this;
    trace(() => `${process.name} receives: ${(error as Error).message}`);
    if (isLockTimeoutError(error)) {
      outcomes.timeouts += 1;
      if (visit.waitTimeout === TIMES.longWait) throw new Violation('waiting', 'a caller has waited forever');
    } else if (isLockStoreError(error)) {
      outcomes.storeFailures += 1;
      // Replicas may lag without a fault, and the last of several keys may be requested when almost no time is left.
      const isOdd = visit.replicas || (visit.keys.length > 1 && visit.waitTimeout !== TIMES.longWait);
      if (checker.isCalm && !isOdd) throw new Violation('unexpected', `although no fault happened: ${error.message}`);
    } else if (error === ENOUGH) outcomes.aborted += 1;
    else if (isLockConfigError(error) && visit.owner !== undefined) outcomes.upgrades += 1;
    else if (isLockLostError(error)) outcomes.lost += 1;
    else throw error;
  }

  /** Whether a lock is lost. If `isHeld` is `false`, the signal must have aborted, and there must be a reason. */
  looksLost(handle: HeldLock): boolean {
    if (handle.isHeld) return false;
    // A signal that is requested now would report the loss in any case.
    const signal = this.signals.get(handle) ?? handle.signal;
    if (!signal.aborted || !(handle.loss instanceof LockLostError)) {
      throw new Violation('signal', `'${handle.key}' is lost, but its signal has not aborted`);
    }
    this.run.outcomes.lost += 1;
    if (this.run.checker.isCalm && this.visit.lease === 'renewed' && this.visit.act !== 'shrink') {
      throw new Violation('unexpected', `lost although no fault happened: ${handle.loss.message}`);
    }
    return true;
  }

  private async releaseOne(handle: HeldLock, observed: ObservedHold): Promise<void> {
    const { process } = this;
    const { checker, world, trace } = this.run;
    const wasLost = this.looksLost(handle);
    const { hold } = observed;
    const { epoch } = process.store;
    trace(() => `${process.name} releases ${hold.key} (${hold.id})`);
    if (this.visit.act === 'release in background') handle.releaseInBackground();
    const released = handle.release();
    checker.ends(observed);
    const at = world.now;
    let answer: boolean;
    try {
      answer = await released;
    } catch (error) {
      if (isLockStoreError(error) && !checker.isCalm) return;
      throw error;
    }
    if (wasLost && answer) throw new Violation('release', `'${hold.key}' was lost, but its release says it was held`);
    const { holdAtLeast, mode, owner } = hold.terms;
    // Readers share the lock with other readers, and callers that name an owner may share it with that owner.
    const isAlone = mode.kind === 'exclusive' && owner === undefined;
    const wasSure = answer && epoch === process.store.epoch && hold.grant.epoch === epoch;
    if (holdAtLeast === 0 || !isAlone || !wasSure) return;
    // Counted by two clocks, each with a drift of its own, and rounded.
    const since = process.clock.worldTime(hold.acquiredAt);
    checker.exclusion.keeps(hold.key, since, Math.max(at, since + holdAtLeast * 0.99 - 2));
    checker.tries.had(hold.key, since + holdAtLeast * 1.01);
  }
}

export const isInTurn = (hold: Hold): boolean => hold.token !== hold.grant.firstToken || hold.id !== hold.grant.id;
