import { isOverdue, type LockHolder, type LockState, type LockWaiter } from '../../service/lock-state.js';
import { clientName, kindName, ownerName } from '../../service/party-names.js';
import type { Style } from './style.js';
import { NOTHING, table, type Column, type Space } from './table.js';
import { labelName, time } from './texts.js';

/** A lease with less time left, in ms, is about to end. */
const SHORT_LEASE = 2_000;

interface Row {
  /** Undefined in the further rows of a lock. */
  readonly lock: LockState | undefined;
  readonly holder: LockHolder | undefined;
}

/**
 * A table of holds with their ages, and of the number of waiters; one row for each hold. `now` is the server's time.
 */
export function locksTable(style: Style, locks: readonly LockState[], now: number, space: Space): string {
  const rows = locks.flatMap((lock): Row[] =>
    lock.holders.length === 0
      ? [{ lock, holder: undefined }]
      : lock.holders.map((holder, i) => ({ lock: i === 0 ? lock : undefined, holder })),
  );
  const columns: Array<Column<Row>> = [
    { heading: 'KEY', elastic: true, cell: ({ lock }) => (lock ? { text: lock.key, style: 'strong' } : '') },
    ...holdColumns(now).map((column, i) => ({
      ...column,
      cell: ({ holder }: Row) =>
        holder ? column.cell(holder) : i === 0 ? ({ text: 'not held', style: 'dim' } as const) : NOTHING,
    })),
    {
      heading: 'QUEUE',
      cell: ({ lock }) => {
        if (lock === undefined) return '';
        return lock.waiters.length === 0 ? '0' : { text: String(lock.waiters.length), style: 'warning' };
      },
    },
  ];
  return table(style, columns, rows, space);
}

/** The columns of a hold: kind, holder, age, and the rest of its lease. */
export const holdColumns = (now: number): Array<Column<LockHolder>> => [
  {
    heading: 'HELD',
    cell: (holder) => (holder.kept ? { text: `${kindName(holder)} (kept)`, style: 'dim' } : kindName(holder)),
  },
  ...clientColumns('HOLDER'),
  { heading: 'FOR', cell: ({ since }) => time(now - since.getTime()) },
  {
    heading: 'LEASE LEFT',
    cell: (holder) => {
      const left = time(holder.ttl);
      if (isOverdue(holder, now - holder.since.getTime())) return { text: `${left}, renewal overdue`, style: 'bad' };
      return holder.ttl < SHORT_LEASE ? { text: left, style: 'warning' } : left;
    },
  },
];

/** The columns that say which client has a hold or waits, and whether it is connected. */
export const clientColumns = (heading: string): Array<Column<LockWaiter>> => [
  { heading, elastic: true, cell: labelName },
  { heading: 'OWNER', ...DETAIL, cell: (party) => ownerName(party) ?? NOTHING },
  { heading: 'METHOD', ...DETAIL, cell: ({ method }) => method || NOTHING },
  { heading: 'PATTERN', ...DETAIL, cell: ({ pattern }) => pattern || NOTHING },
  {
    heading: 'CONNECTION',
    sparse: true,
    cell: ({ connected }) =>
      connected === false ? { text: 'not connected', style: 'bad' } : connected ? 'connected' : NOTHING,
  },
];
const DETAIL = { elastic: true, optional: true, sparse: true };

/** The ids of clients that have labels, which stand in place of the ids. */
export const ID_COLUMN: Column<LockWaiter> = {
  ...{ heading: 'CLIENT', optional: true, sparse: true },
  cell: ({ label, client }) => (label ? clientName(client) : NOTHING),
};
