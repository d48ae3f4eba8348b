import type { LockState, LockWaiter } from '../service/lock-state.js';
import type { Order } from './command-table.js';

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

const ORDERS: Readonly<Record<Order, Compare>> = {
  key: byKey,
  held: ascending(heldSince),
  waiters: ascending(({ waiters }) => -waiters.length),
  lease: ascending(leaseLeft),
};

export const inOrder = <Each extends { readonly key: string }>(all: Each[]): Each[] => all.sort(byKey);

/** Locks by the order of `--sort`. Locks with the same value are sorted by key. */
export const sortLocks = (locks: LockState[], order: Order): LockState[] => locks.sort(ORDERS[order]);

/** Whether the label, the id or the owner of a client contains the text. */
export const isOf = ({ label, client, owner }: LockWaiter, text: string): boolean =>
  [label, client, owner].some((name) => name?.includes(text));

/** Whether such a client has or awaits the lock. */
export const concerns = ({ holders, waiters }: LockState, text: string): boolean =>
  [...holders, ...waiters].some((party) => isOf(party, text));
