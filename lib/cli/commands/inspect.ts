import { quote } from '../../common/describe.js';
import { inspectOne, isForeign } from '../../service/list-locks.js';
import type { LockHolder, LockState, LockWaiter } from '../../service/lock-state.js';
import { counted, grouped, kindName } from '../../service/party-names.js';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { clientColumns, holdColumns, ID_COLUMN } from '../output/locks-table.js';
import { table, type Column } from '../output/table.js';
import { without, type Terminal } from '../output/terminal.js';
import { safe, safeJson, time } from '../output/texts.js';
import { serverTime, type Session } from '../session.js';
import { hintOfPrefixes } from './ls.js';

/** The lines besides the rows of a table: the counts, the headings, an empty line. */
const OTHER_LINES = 3;

/** Shows one lock: its holders with their fencing tokens, and its waiters in order. */
export async function inspect(session: Session, { subject, json }: CommandLine, terminal: Terminal): Promise<ExitCode> {
  const key = subject!;
  const lock = await inspectOne(session.locks, key);
  if (isForeign(lock)) throw new Error(`${quote(key)} is not a lock: ${lock.reason}`);
  if (json) terminal.write(`${safeJson(lock, 2)}\n`);
  else if (lock === null) {
    const free = `${safe(key)} is free and has no waiters, with the prefix '${session.prefix}'.`;
    terminal.write(`${free}${await hintOfPrefixes(session)}\n`);
  } else terminal.write(describeLock(terminal, lock, await serverTime(session)));
  return lock === null ? EXIT.no : EXIT.ok;
}

function describeLock({ style, space }: Terminal, { key, holders, waiters, permits }: LockState, now: number): string {
  const units = holders.reduce((sum, holder) => sum + holder.units, 0);
  const ofPermits = permits === undefined ? '' : `, ${grouped(units)} of ${grouped(permits)} permits`;
  // The calls of a process share a place in the queue, and have none while their process holds the lock.
  const processes = counted(new Set(waiters.map(({ client }) => client)).size, 'process', 'processes');
  const counts = `${grouped(holders.length)} holding${ofPermits}, ${processes} in the queue`;
  const note = style.dim('(calls inside a process: redis_lock_waiting)');
  const parts = [`${style.strong(safe(key))}  ${counts} ${note}\n`];
  // Either table gets half of a terminal that is too small for both.
  const half = waiters.length > 0 ? Math.floor(space.rows / 2) : space.rows;
  const room = without({ ...space, rows: half }, OTHER_LINES);
  if (holders.length > 0) {
    const columns: Array<Column<LockHolder>> = [
      ...holdColumns(now),
      { heading: 'TOKEN', cell: ({ fencingToken }) => String(fencingToken) },
      ID_COLUMN,
      { heading: 'SINCE', cell: ({ since }) => since.toISOString(), optional: true },
    ];
    parts.push(table(style, columns, holders, room));
  }
  if (waiters.length > 0) {
    const places = new Map(waiters.map((waiter, i) => [waiter, i + 1]));
    const columns: Array<Column<LockWaiter>> = [
      { heading: 'NEXT', cell: (waiter) => String(places.get(waiter)) },
      { heading: 'WANTED', cell: kindName },
      ...clientColumns('WAITER'),
      { heading: 'FOR', cell: ({ since }) => time(now - since.getTime()) },
      ID_COLUMN,
    ];
    parts.push(table(style, columns, waiters, room));
  }
  return parts.join('\n');
}
