import type { LockService } from '../service/lock.service.js';
import { describeForeign, isForeign } from '../service/inspect-several.js';
import { inspectAll, keyParts, type ListReply } from '../service/list-locks.js';
import type { LockHolderInfo, LockInfo, LockWaiterInfo } from '../service/lock-info.js';
import type { DashboardHolder, DashboardLock, DashboardLocks, DashboardWaiter } from './dashboard-state.js';

/** About how many names in the store each refresh looks at. If there are more, one pass takes several refreshes. */
const NAMES_AT_A_TIME = 10_000;
/** How many holders and waiters of one key are shown. */
const SHOWN = 100;
/** How many keys with other data are named. */
const SKIPPED_SHOWN = 3;

/** The methods of the service that are used. */
export type CountedLocks = Pick<LockService, 'listKeys' | 'inspect'>;

/**
 * Keeps a list of the locks. Each refresh continues through the names in the store where the last one ended, and
 * inspects the known keys. So a large Redis is read in many small steps of equal cost.
 */
export class LockCensus {
  private readonly known = new Set<string>();
  /** The pass through the names in the store; `undefined`: the next refresh begins a new one. */
  private pass: AsyncGenerator<ListReply> | undefined;
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
      // After a failure, the place in the store may no longer be valid.
      this.pass = undefined;
    }
    const { list, limit, complete, skipped } = this;
    return { list, limit, more: this.leavingOut || this.leftOut, complete, trouble, skipped };
  }

  private async goOn(): Promise<number> {
    this.pass ??= keyParts(this.locks, NAMES_AT_A_TIME);
    const { keys, cursor, time } = (await this.pass.next()).value as ListReply;
    for (const key of keys) {
      if (this.known.size < this.limit) this.known.add(key);
      else if (!this.known.has(key)) this.leavingOut = true;
    }
    if (cursor === undefined) {
      this.pass = undefined;
      this.complete = true;
      this.leftOut = this.leavingOut;
      this.leavingOut = false;
    }
    return time;
  }

  private async ask(time: number, skipped: string[]): Promise<DashboardLock[]> {
    const list: DashboardLock[] = [];
    for await (const [key, found] of inspectAll(this.locks, this.known)) {
      if (found === null) this.known.delete(key);
      else if (isForeign(found)) skipped.push(describeForeign(found));
      else list.push(lockOf(found, time));
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
