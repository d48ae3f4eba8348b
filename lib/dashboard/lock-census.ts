import type { LockService } from '../service/lock.service.js';
import { describeForeign, inspectSeveral, isForeign } from '../service/inspect-several.js';
import type { LockHolderInfo, LockInfo, LockWaiterInfo } from '../service/lock-info.js';
import type { DashboardHolder, DashboardLock, DashboardLocks, DashboardWaiter } from './dashboard-state.js';

/** About how many names in the store each refresh looks at. If there are more, one pass takes several refreshes. */
const NAMES_AT_A_TIME = 10_000;
/** How many locks are inspected at once. */
const TOGETHER = 50;
/** How many holders and waiters of one key are shown. */
const SHOWN = 100;
/** How many keys with other data are named. */
const SKIPPED_SHOWN = 3;

/** The methods of the service that are used. */
export type CountedLocks = Pick<LockService, 'list' | 'inspect'>;

/**
 * Keeps a list of the locks. Each refresh continues through the names in the store where the last one ended, and
 * inspects the known keys. So a large Redis is read in many small steps of equal cost.
 */
export class LockCensus {
  private readonly known = new Set<string>();
  private cursor = '';
  /** Whether any key was left out in this pass, and in the last one. */
  private leavingOut = false;
  private leftOut = false;
  private complete = false;
  private list: readonly DashboardLock[] = [];
  private skipped: string | undefined;

  constructor(
    private readonly locks: CountedLocks,
    /** The largest number of known keys. */
    private readonly limit: number,
  ) {}

  /** Never rejects: a failure is reported as `trouble`. */
  async look(): Promise<DashboardLocks> {
    let trouble: string | undefined;
    try {
      const time = await this.goOn();
      const skipped: string[] = [];
      this.list = await this.ask(time, skipped);
      this.skipped = skipped.length > 0 ? skippedText(skipped) : undefined;
    } catch (error) {
      trouble = error instanceof Error ? error.message : String(error);
      // After a failure, the cursor may no longer be valid.
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

/** The first keys, which show where the others come from. */
const skippedText = (skipped: readonly string[]): string => {
  const more = skipped.length - SKIPPED_SHOWN;
  return skipped.slice(0, SKIPPED_SHOWN).join('; ') + (more > 0 ? `; and ${more} more` : '');
};

/** `time`: the time of the store. */
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
  // A hold that is newer than `time` has just begun.
  age: Math.max(0, time - holder.since.getTime()),
  lease: holder.ttl,
  kept: holder.kept,
});
