import type { ReadLock } from './lock-view.js';

/** What a viewer wants to see of all locks. */
export interface LockQuery {
  /** Words that must all occur in a lock, in lower case. */
  readonly words: readonly string[];
  readonly sort: Order;
  readonly descending: boolean;
}

/** A longer filter is cut. */
const LONGEST_FILTER = 200;

/** The order in which an operator looks for trouble: locks with waiters first, then the longest held. */
const byAttention = (a: ReadLock, b: ReadLock): number =>
  Number(b.waiting > 0) - Number(a.waiting > 0) || beganOf(a) - beganOf(b);

const ORDERS = {
  attention: byAttention,
  key: (a, b) => compare(a.key, b.key),
  kind: (a, b) => compare(a.holders[0]?.kindName, b.holders[0]?.kindName),
  owner: (a, b) => compare(a.holders[0]?.name, b.holders[0]?.name),
  age: (a, b) => beganOf(b) - beganOf(a),
  lease: (a, b) => endOf(a) - endOf(b),
  waiting: (a, b) => a.waiting - b.waiting,
} satisfies Record<string, (a: ReadLock, b: ReadLock) => number>;

type Order = keyof typeof ORDERS;

/** Reads the query of a request: `filter`, `sort`, `descending`. Values that mean nothing are ignored. */
export function readQuery(written: Readonly<Record<string, unknown>>): LockQuery {
  const { filter, sort, descending } = written;
  const text = typeof filter === 'string' ? filter.slice(0, LONGEST_FILTER).toLowerCase() : '';
  return {
    words: text.split(/\s+/).filter(Boolean),
    sort: typeof sort === 'string' && Object.hasOwn(ORDERS, sort) ? (sort as Order) : 'attention',
    descending: descending === '1',
  };
}

/** Compares two locks in the order of the query. Equal locks are ordered by their keys. */
export function orderOf({ sort, descending }: LockQuery): (a: ReadLock, b: ReadLock) => number {
  const order = ORDERS[sort];
  const sign = descending ? -1 : 1;
  return (a, b) => sign * order(a, b) || compare(a.key, b.key);
}

/** The text in which the words of a filter are looked for. */
export function searchText({ key, holders, waiters }: ReadLock): string {
  const about = [...holders, ...waiters].flatMap((each) => [
    ...[each.name, each.client, each.kindName],
    ...[each.label, each.pattern, each.method],
  ]);
  return [key, ...about].join('\n').toLowerCase();
}

const compare = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0);

/** Times of the store, since locks are not all read at the same moment. A key without a holder comes last. */
const beganOf = ({ at, holders }: ReadLock): number => at - Math.max(-1, ...holders.map(({ age = -1 }) => age));
const endOf = ({ at, holders }: ReadLock): number => at + Math.max(-1, ...holders.map(({ lease }) => lease));
