import { isOverdue, type LockHolder, type LockState, type LockWaiter } from '../../service/lock-state.js';
import type { Style } from './style.js';
import { table, type Column, type Space } from './table.js';
import { clientName, kindName, labelName, ownerName, time, type ClientFacts } from './texts.js';

/** A lease with less time left, in ms, is about to end. */
const SHORT_LEASE = 2_000;

interface Row {
  /** Undefined in the further rows of a lock. */
  readonly lock: LockState | undefined;
  readonly holder: (LockHolder & ClientFacts) | undefined;
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
  const ofHold = holdColumns(
    rows.flatMap(({ holder }) => holder ?? []),
    now,
  );
  const columns: Array<Column<Row>> = [
    { heading: 'KEY', elastic: true, cell: ({ lock }) => (lock ? { text: lock.key, style: 'strong' } : '') },
    ...ofHold.map((column, i) => ({
      ...column,
      cell: ({ holder }: Row) =>
        holder ? column.cell(holder) : i === 0 ? ({ text: 'not held', style: 'dim' } as const) : '-',
    })),
    {
      heading: 'QUEUE',
      cell: ({ lock }) =>
        lock === undefined || lock.waiters.length === 0
          ? lock === undefined
            ? ''
            : '0'
          : { text: String(lock.waiters.length), style: 'warning' },
    },
  ];
  return table(style, columns, rows, space);
}

/** The columns of a hold: kind, holder, age, and the rest of its lease. */
export function holdColumns(
  holders: ReadonlyArray<LockHolder & ClientFacts>,
  now: number,
): Array<Column<LockHolder & ClientFacts>> {
  return [
    {
      heading: 'HELD',
      cell: (holder) => (holder.kept ? { text: `${kindName(holder)} (kept)`, style: 'dim' } : kindName(holder)),
    },
    ...clientColumns('HOLDER', holders),
    ...connectionColumns(holders),
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
}

/** The columns that say which client has a hold or waits. A column in which nothing would stand is left out. */
export function clientColumns<Each extends (LockHolder | LockWaiter) & ClientFacts>(
  heading: string,
  all: readonly Each[],
): Array<Column<Each>> {
  const columns: Array<Column<Each>> = [{ heading, elastic: true, cell: labelName }];
  const optional = { elastic: true, optional: true };
  if (all.some((each) => ownerName(each) !== '-')) columns.push({ heading: 'OWNER', cell: ownerName, ...optional });
  if (all.some(({ method }) => method))
    columns.push({ heading: 'METHOD', cell: ({ method }) => method || '-', ...optional });
  if (all.some(({ pattern }) => pattern))
    columns.push({ heading: 'PATTERN', cell: ({ pattern }) => pattern || '-', ...optional });
  return columns;
}

/** Whether clients are connected, unless that is not known of any. */
export const connectionColumns = <Each extends LockHolder | LockWaiter>(all: readonly Each[]): Array<Column<Each>> =>
  all.some(({ connected }) => connected !== undefined)
    ? [
        {
          heading: 'CONNECTION',
          cell: ({ connected }) =>
            connected === false ? { text: 'not connected', style: 'bad' } : connected ? 'connected' : 'unknown',
        },
      ]
    : [];

/** The column of client ids, if labels hide them. */
export const idColumns = <Each extends ClientFacts & { readonly client: string }>(
  all: readonly Each[],
): Array<Column<Each>> =>
  all.some(({ label }) => label)
    ? [{ heading: 'CLIENT', cell: ({ client }) => clientName(client), optional: true }]
    : [];
