import { isLockStoreError } from '../errors/index.js';
import type { EngineContext } from './engine-context.js';

/** ms from a failed command to the next try. */
const RETRY = 250;

/** A hold in the store that has released some of its permits. */
export interface PermitHold {
  readonly key: string;
  readonly storeId: string;
  /** How many it keeps. */
  readonly units: number;
  readonly isHeld: boolean;
}

/** Tells the store how many permits a hold keeps after it has released some. */
export class UnitReleases {
  /** Holds whose command has failed. One retry says all, since a command says how many permits the hold has when it is sent. */
  private readonly failed = new Set<PermitHold>();

  constructor(private readonly context: EngineContext) {}

  /**
   * Sends how many permits a hold has now. A copy that arrives later releases no more than that. A transient failure is
   * retried while the hold is held, but the promise rejects with the first failure. `keepOf`: for how many ms the released
   * permits stay taken.
   */
  async send(hold: PermitHold, keepOf: () => number = () => 0): Promise<number | 'not-held'> {
    const { store, logger } = this.context;
    const { key, storeId: id, units } = hold;
    try {
      return await store.permits!.keepUnits({ key, id, units, keep: keepOf() });
    } catch (error) {
      if (!isLockStoreError(error) || !error.transient) throw error;
      logger.debug(`could not release permits of '${key}' in Redis, will try again: ${error.message}`);
      this.retry(hold, keepOf);
      throw error;
    }
  }

  /** Like `send`, for callers that need no answer. */
  sendInBackground(hold: PermitHold, keepOf?: () => number): void {
    this.send(hold, keepOf).catch(() => undefined);
  }

  private retry(hold: PermitHold, keepOf: () => number): void {
    if (this.failed.has(hold)) return;
    this.failed.add(hold);
    const { clock, timers } = this.context;
    timers.add(clock.now() + RETRY, () => {
      this.failed.delete(hold);
      if (hold.isHeld) this.sendInBackground(hold, keepOf);
    });
  }
}
