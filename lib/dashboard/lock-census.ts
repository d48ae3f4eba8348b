import { messageOf } from '../common/describe.js';
import type { LockService } from '../service/lock.service.js';
import { describeForeign, inspectAll, isForeign, keyParts, type ListReply } from '../service/list-locks.js';
import type { DashboardLock, DashboardLocks, DashboardTotals } from './dashboard-state.js';
import { orderOf, searchText, type LockQuery } from './lock-query.js';
import { lockOf, type ReadLock } from './lock-view.js';

/** About how many names in the store each refresh looks at. If there are more, one pass takes several refreshes. */
const NAMES_AT_A_TIME = 10_000;
/** How many keys each refresh inspects, beside the shown keys. */
const KEYS_AT_A_TIME = 1_000;
/** How many keys are counted. */
const MOST_KEYS = 20_000;
/** After so many ms without a refresh, everything is read again. */
const FORGOTTEN = 60_000;
/** How many keys with other data are named. */
const SKIPPED_SHOWN = 3;

/** The methods of the service that are used. */
export type CountedLocks = Pick<LockService, 'listKeys' | 'inspect'> & { readonly clientId?: string };

interface Entry {
  /** When it was read, by `now`. */
  readonly at: number;
  /** `undefined`: the key holds other data. */
  readonly lock: ReadLock | undefined;
  readonly foreign: string | undefined;
  text: string | undefined;
}

/** A pass through the names in the store. */
interface Pass {
  readonly parts: AsyncGenerator<ListReply>;
  readonly began: number;
  /** Whether it has seen all names. */
  isOver: boolean;
  /** Whether it has left out a key. */
  leavesOut: boolean;
}

/**
 * Knows all locks. Each refresh continues through the names in the store where the last one ended, and inspects the new
 * keys and the keys with the oldest data. So a large Redis is read in many small steps of equal cost.
 */
export class LockCensus {
  /** By key, in the order in which they were read. */
  private readonly entries = new Map<string, Entry>();
  /** Keys that were found and not read. */
  private readonly found = new Set<string>();
  /** `undefined`: the next refresh begins a new one. */
  private pass: Pass | undefined;
  /** The last pass whose keys were all read. */
  private counted: Pass | undefined;
  /** The store's clock, minus `now`. */
  private offset = 0;
  private refreshed = -Infinity;
  private answered: number | undefined;
  private failing: { readonly since: number; readonly message: string } | undefined;

  constructor(
    private readonly locks: CountedLocks,
    /** The largest number of locks in a view. */
    private readonly limit: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The time of the store. */
  get storeTime(): number {
    return Math.round(this.now() + this.offset);
  }

  /** Reads on. Never rejects: a failure is reported as `trouble`. */
  async refresh(): Promise<void> {
    if (this.now() - this.refreshed > FORGOTTEN) this.forget();
    await this.attempt(async () => {
      await this.goOn();
      const stalest = this.entries.keys();
      const keys = [...this.found].slice(0, KEYS_AT_A_TIME);
      for (const key of stalest) if (keys.push(key) >= KEYS_AT_A_TIME) break;
      await this.read(keys);
      if (this.pass?.isOver && this.found.size === 0) [this.counted, this.pass] = [this.pass, undefined];
    });
    this.refreshed = this.now();
  }

  /** The locks that a viewer asks for. Locks that were last read before `since` are read now. */
  async view(query: LockQuery, since: number): Promise<DashboardLocks> {
    // Twice, because other locks move up if some have been released.
    for (let i = 0; i < 2 && this.failing === undefined; i++) {
      const old = this.select(query).shown.filter(([, { at }]) => at < since);
      if (old.length > 0) await this.attempt(() => this.read(old.map(([key]) => key)));
    }
    const { shown, matching } = this.select(query);
    const now = this.now();
    const { failing, answered, limit } = this;
    return {
      list: shown.map(([, { lock, at }]): DashboardLock => ({ ...lock!, ago: now - at })),
      ...{ limit, matching, totals: this.totals(now), skipped: this.skipped() },
      age: answered === undefined ? undefined : now - answered,
      trouble: failing && { message: failing.message, for: now - failing.since },
    };
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.answered = this.now();
      this.failing = undefined;
    } catch (error) {
      const message = messageOf(error);
      this.failing = { since: this.failing?.since ?? this.answered ?? this.now(), message };
      // After a failure, the place in the store may no longer be valid.
      this.pass = undefined;
    }
  }

  private async goOn(): Promise<void> {
    // First the keys that the last steps have found.
    if (this.found.size >= KEYS_AT_A_TIME || this.pass?.isOver) return;
    const parts = keyParts(this.locks, NAMES_AT_A_TIME);
    const pass = (this.pass ??= { parts, began: this.now(), isOver: false, leavesOut: false });
    const { keys, cursor, time } = (await pass.parts.next()).value as ListReply;
    this.offset = time - this.now();
    for (const key of keys) {
      if (this.entries.has(key)) continue;
      if (this.entries.size + this.found.size < MOST_KEYS) this.found.add(key);
      else pass.leavesOut = true;
    }
    pass.isOver = cursor === undefined;
  }

  private async read(keys: readonly string[]): Promise<void> {
    for await (const [key, found] of inspectAll(this.locks, keys)) {
      this.found.delete(key);
      const known = this.entries.get(key)?.lock;
      // A new entry goes to the end.
      this.entries.delete(key);
      if (found === null) continue;
      const at = this.now();
      const foreign = isForeign(found) ? describeForeign(found) : undefined;
      const lock = isForeign(found) ? undefined : lockOf(found, this.storeTime, { known, client: this.locks.clientId });
      this.entries.set(key, { at, lock, foreign, text: undefined });
    }
  }

  private select(query: LockQuery): { shown: Array<[string, Entry]>; matching: number } {
    const matches = [...this.entries].filter(([, entry]) => isMatch(entry, query));
    const order = orderOf(query);
    matches.sort(([, a], [, b]) => order(a.lock!, b.lock!));
    return { shown: matches.slice(0, this.limit), matching: matches.length };
  }

  private totals(now: number): DashboardTotals {
    const { pass, counted } = this;
    let [locks, holding, waiting, oldest] = [0, 0, 0, counted?.began ?? now];
    for (const { lock, at } of this.entries.values()) {
      oldest = Math.min(oldest, at);
      if (lock === undefined) continue;
      locks += 1;
      holding += lock.holding;
      waiting += lock.waiting;
    }
    const capped = [pass, counted].some((each) => each?.leavesOut);
    return { locks, holding, waiting, age: now - oldest, complete: counted !== undefined, capped };
  }

  /** The first keys with other data, which show where the others come from. */
  private skipped(): string | undefined {
    const texts = [...this.entries.values()].flatMap(({ foreign }) => foreign ?? []);
    if (texts.length === 0) return undefined;
    const more = texts.length - SKIPPED_SHOWN;
    return texts.slice(0, SKIPPED_SHOWN).join('; ') + (more > 0 ? `; and ${more} more` : '');
  }

  private forget(): void {
    // Without a viewer, Redis was not asked: it may have answered all the time.
    this.answered = this.failing = undefined;
    this.entries.clear();
    this.found.clear();
    this.pass = this.counted = undefined;
  }
}

function isMatch(entry: Entry, { words }: LockQuery): boolean {
  if (entry.lock === undefined) return false;
  if (words.length === 0) return true;
  entry.text ??= searchText(entry.lock);
  const { text } = entry;
  return words.every((word) => text.includes(word));
}
