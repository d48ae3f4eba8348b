import { isForeign, listLocks, type ForeignKey } from '../service/list-locks.js';
import type { LockState, LockWaiter } from '../service/lock-state.js';
import type { CommandLine } from './arguments.js';
import type { Order } from './command-table.js';
import type { Session } from './session.js';

/** The locks, and the keys that look like locks but are something else. */
export interface FoundLocks {
  readonly locks: LockState[];
  readonly skipped: ForeignKey[];
}

/** Finds all locks that the command line asks for, in its order. */
export async function findLocks(
  { locks: service }: Session,
  { subject, holder, sort }: Pick<CommandLine, 'subject' | 'holder' | 'sort'>,
): Promise<FoundLocks> {
  const locks: LockState[] = [];
  const skipped: ForeignKey[] = [];
  for await (const found of listLocks(service, subject)) {
    if (isForeign(found)) skipped.push(found);
    else if (holder === undefined || concerns(found, holder)) locks.push(found);
  }
  return { locks: locks.sort(ORDERS[sort]), skipped: skipped.sort(byKey) };
}

/** All locks, whatever the command line asks for. */
export const ALL = { subject: undefined, holder: undefined, sort: 'key' } as const;

type Compare = (a: LockState, b: LockState) => number;

/** Infinity for a key that is not held: such keys come last. */
const heldSince = ({ holders }: LockState): number => Math.min(...holders.map(({ since }) => since.getTime()));
const leaseLeft = ({ holders, ttl }: LockState): number => (holders.length === 0 ? Infinity : ttl);

const byKey = (a: { readonly key: string }, b: { readonly key: string }): number =>
  a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
/** `Infinity - Infinity` is NaN, which is no order. */
const ascending =
  (value: (lock: LockState) => number): Compare =>
  (a, b) =>
    value(a) - value(b) || byKey(a, b);

/** By the order of `--sort`. Locks with the same value are sorted by key. */
const ORDERS: Readonly<Record<Order, Compare>> = {
  key: byKey,
  held: ascending(heldSince),
  waiters: ascending(({ waiters }) => -waiters.length),
  lease: ascending(leaseLeft),
};

/** Whether the label, the id or the owner of a client contains the text. */
export const isOf = ({ label, client, owner }: LockWaiter, text: string): boolean =>
  [label, client, owner].some((name) => name?.includes(text));

/** Whether such a client has or awaits the lock. */
export const concerns = ({ holders, waiters }: LockState, text: string): boolean =>
  [...holders, ...waiters].some((party) => isOf(party, text));
