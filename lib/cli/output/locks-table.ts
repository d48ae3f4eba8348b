import type { LockHolderInfo, LockInfo } from '../../service/lock-info.js';
import type { Style } from './style.js';
import { table, type Cell } from './table.js';
import { clientName, kindName, ownerName, safe, time } from './texts.js';

/** A lease with less time left, in ms, is about to end. */
const SHORT_LEASE = 2_000;

const HEADINGS = ['KEY', 'HELD', 'BY', 'CLIENT', 'FOR', 'LEASE LEFT', 'WAITING'];

/**
 * A table of holds with their ages, and of the number of waiters; one row for each hold. `now` is the server's time.
 */
export function locksTable(style: Style, locks: readonly LockInfo[], now: number): string {
  return table(
    style,
    HEADINGS,
    locks.flatMap((lock) => rowsOf(lock, now)),
  );
}

function rowsOf({ key, holders, waiters }: LockInfo, now: number): Cell[][] {
  const name: Cell = { text: safe(key), style: 'strong' };
  const waiting: Cell = waiters.length === 0 ? '0' : { text: String(waiters.length), style: 'warning' };
  if (holders.length === 0) return [[name, { text: 'not held', style: 'dim' }, '-', '-', '-', '-', waiting]];
  return holders.map((holder, i) => [i === 0 ? name : '', ...holderCells(holder, now), i === 0 ? waiting : '']);
}

/** The cells of a hold: kind, owner, client, age, and the rest of its lease. */
export function holderCells(holder: LockHolderInfo, now: number): Cell[] {
  const { client, ttl, kept, since } = holder;
  return [
    kept ? { text: `${kindName(holder)} (kept)`, style: 'dim' } : kindName(holder),
    ownerName(holder),
    clientName(client),
    time(now - since.getTime()),
    ttl < SHORT_LEASE ? { text: time(ttl), style: 'warning' } : time(ttl),
  ];
}
