import type { EngineContext } from '../engine/engine-context.js';
import type { Hold, HoldTerms, KeyTerms } from '../engine/hold.js';
import { LockEngine } from '../engine/lock-engine.js';
import type { WaitTerms } from '../engine/waiter.js';
import { isLockError, isLockTimeoutError } from '../errors/index.js';
import type { AcquisitionOutcome, Acquisitions } from './acquisitions.js';

/** An engine that records the result of each acquisition, and calls a function when it closes. */
export class RecordingEngine extends LockEngine {
  constructor(
    context: EngineContext,
    private readonly acquisitions: Acquisitions,
    private readonly onClose: () => Promise<void>,
  ) {
    super(context);
  }

  override acquire(key: string, terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    return this.record([{ key, terms }], super.acquire(key, terms, wait));
  }

  override acquireAll(set: readonly KeyTerms[], wait: WaitTerms): Promise<Hold[]> {
    return this.record(set, super.acquireAll(set, wait));
  }

  override async close(timeout: number): Promise<void> {
    await Promise.all([super.close(timeout), this.onClose()]);
  }

  private async record<T>(set: readonly KeyTerms[], acquired: Promise<T>): Promise<T> {
    const add = (outcome: AcquisitionOutcome): void => {
      for (const { key, terms } of set)
        this.acquisitions.add({ key, kind: terms.mode.kind, owner: terms.owner, outcome });
    };
    const optional = set.some(({ terms }) => terms.optional);
    try {
      const held = await acquired;
      add('acquired');
      return held;
    } catch (error) {
      add(outcomeOf(error, optional));
      throw error;
    }
  }
}

function outcomeOf(reason: unknown, optional: boolean): AcquisitionOutcome {
  if (isLockTimeoutError(reason)) return optional ? 'skipped' : 'timeout';
  return isLockError(reason) ? 'failed' : 'aborted';
}
