import { AsyncLocalStorage } from 'node:async_hooks';
import type { Hold, HoldTerms } from '../engine/hold.js';
import { LockEngine, type LockEngineParts } from '../engine/lock-engine.js';
import type { WaitTerms } from '../engine/waiter.js';
import { isLockError, isLockTimeoutError } from '../errors/index.js';
import type { AcquisitionOutcome, Acquisitions } from './acquisitions.js';

/** An engine that notes down what comes of each acquisition, and tells when it closes. */
export class RecordingEngine extends LockEngine {
  /** Several locks may be taken one by one, which is not noted down again. */
  private readonly withinSet = new AsyncLocalStorage<true>();

  constructor(
    parts: LockEngineParts,
    private readonly acquisitions: Acquisitions,
    private readonly onClose: () => Promise<void>,
  ) {
    super(parts);
  }

  override acquire(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    const acquired = super.acquire(terms, wait);
    return this.withinSet.getStore() === true ? acquired : this.record([terms], acquired);
  }

  override acquireAll(set: readonly HoldTerms[], wait: WaitTerms): Promise<Hold[]> {
    return this.record(
      set,
      this.withinSet.run(true, () => super.acquireAll(set, wait)),
    );
  }

  override async close(timeout: number): Promise<void> {
    await Promise.all([super.close(timeout), this.onClose()]);
  }

  private async record<T>(set: readonly HoldTerms[], acquired: Promise<T>): Promise<T> {
    const add = (outcome: AcquisitionOutcome): void => {
      for (const { key, mode, owner } of set) this.acquisitions.add({ key, mode: mode.kind, owner, outcome });
    };
    try {
      const held = await acquired;
      add('acquired');
      return held;
    } catch (error) {
      add(outcomeOf(error));
      throw error;
    }
  }
}

function outcomeOf(reason: unknown): AcquisitionOutcome {
  if (isLockTimeoutError(reason)) return 'timeout';
  return isLockError(reason) ? 'failed' : 'aborted';
}
