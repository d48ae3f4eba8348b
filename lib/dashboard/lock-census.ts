import type { LockService } from '../service/lock.service.js';
import { describeForeign, inspectSeveral, isForeign } from '../service/inspect-several.js';
import type { LockHolderInfo, LockInfo, LockWaiterInfo } from '../service/lock-info.js';
import type { DashboardHolder, DashboardLock, DashboardLocks, DashboardWaiter } from './dashboard-state.js';

/** At how many names of the store is looked each time, about; where there are more, it takes several times to see all. */
const NAMES_AT_A_TIME = 10_000;
/** How many locks are asked about at once. */
const TOGETHER = 50;
/** How many holders and waiters of one key are shown. */
const SHOWN = 100;
/** How many keys are named that hold something else. */
const SKIPPED_SHOWN = 3;

/** What is asked of a service. */
export type CountedLocks = Pick<LockService, 'list' | 'inspect'>;

/**
 * Knows which locks there are. Each look goes on through the names of the store where the last one ended, and asks about the keys
 * that it knows; so a large Redis is seen in many small steps, and no step costs more than the others.
 */
export class LockCensus {
  private readonly known = new Set<string>();
  private cursor = '';
  /** Whether somebody was left out in this round, and in the last one. */
  private leavingOut = false;
  private leftOut = false;
  private complete = false;
  private list: readonly DashboardLock[] = [];
  private skipped: string | undefined;

  constructor(
    private readonly locks: CountedLocks,
    /** How many keys are known at most. */
    private readonly limit: number,
  ) {}

  /** Never rejects: what fails is told as `trouble`. */
  async look(): Promise<DashboardLocks> {
    let trouble: string | undefined;
    try {
      const time = await this.goOn();
      const skipped: string[] = [];
      this.list = await this.ask(time, skipped);
      this.skipped = skipped.length > 0 ? skippedText(skipped) : undefined;
    } catch (error) {
      trouble = error instanceof Error ? error.message : String(error);
      // What was known of the way may not hold where it failed.
      this.cursor = '';
    }
    const { list, limit, complete, skipped } = this;
    return { list, limit, more: this.leavingOut || this.leftOut, complete, trouble, skipped };
  }

  private async goOn(): Promise<number> {
    const { keys, cursor, time } = await this.locks.list({ cursor: this.cursor, budget: NAMES_AT_A_TIME });
    for (const key of keys) {
      if (this.known.size < this.limit) this.known.add(key);
      else if (!this.known.has(key)) this.leavingOut = true;
    }
    this.cursor = cursor ?? '';
    if (cursor === undefined) {
      this.complete = true;
      this.leftOut = this.leavingOut;
      this.leavingOut = false;
    }
    return time;
  }

  private async ask(time: number, skipped: string[]): Promise<DashboardLock[]> {
    const keys = [...this.known];
    const list: DashboardLock[] = [];
    for (let i = 0; i < keys.length; i += TOGETHER) {
      const some = keys.slice(i, i + TOGETHER);
      const infos = await inspectSeveral(this.locks, some);
      infos.forEach((info, j) => {
        if (info === null) this.known.delete(some[j]!);
        else if (isForeign(info)) skipped.push(describeForeign(info));
        else list.push(lockOf(info, time));
      });
    }
    return list.sort((a, b) => (a.key < b.key ? -1 : 1));
  }
}

/** The first ones, which tell where the others come from. */
const skippedText = (skipped: readonly string[]): string => {
  const more = skipped.length - SKIPPED_SHOWN;
  return skipped.slice(0, SKIPPED_SHOWN).join('; ') + (more > 0 ? `; and ${more} more` : '');
};

/** `time` is the store's. */
export function lockOf({ key, holders, waiters, permits, fencingToken }: LockInfo, time: number): DashboardLock {
  return {
    ...{ key, permits, fencingToken },
    holding: holders.length,
    waiting: waiters.length,
    holders: holders.slice(0, SHOWN).map((holder) => holderOf(holder, time)),
    waiters: waiters.slice(0, SHOWN).map(waiterOf),
  };
}

const waiterOf = ({ owner, client, type, units }: LockWaiterInfo): DashboardWaiter => ({
  ...{ owner, client, type, units },
});

const holderOf = (holder: LockHolderInfo, time: number): DashboardHolder => ({
  ...waiterOf(holder),
  fencingToken: holder.fencingToken,
  // Whoever came between the two questions has just come.
  age: Math.max(0, time - holder.since.getTime()),
  lease: holder.ttl,
  kept: holder.kept,
});
