import { quote } from '../../common/describe.js';
import { inspectSeveral, isForeign } from '../../service/inspect-several.js';
import type { LockInfo } from '../../service/lock-info.js';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { holderCells } from '../output/locks-table.js';
import type { Style } from '../output/style.js';
import { table } from '../output/table.js';
import type { Terminal } from '../output/terminal.js';
import { clientName, kindName, ownerName, safe, safeJson } from '../output/texts.js';
import { serverTime } from '../server-time.js';
import type { Session } from '../session.js';

/** Shows one lock: its holders with their fencing tokens, and its waiters in order. */
export async function inspect(session: Session, { subject, json }: CommandLine, terminal: Terminal): Promise<ExitCode> {
  const key = subject!;
  const [lock = null] = await inspectSeveral(session.locks, [key]);
  if (isForeign(lock)) throw new Error(`${quote(key)} is not a lock: ${lock.reason}`);
  if (json) terminal.write(`${safeJson(lock, 2)}\n`);
  else if (lock === null) terminal.write(`${safe(key)} is free and has no waiters.\n`);
  else terminal.write(describeLock(terminal.style, lock, await serverTime(session)));
  return lock === null ? EXIT.no : EXIT.ok;
}

function describeLock(style: Style, { key, holders, waiters, permits }: LockInfo, now: number): string {
  const limit = permits === undefined ? '' : `, of ${permits} permits (set at run time)`;
  const parts = [`${style.strong(safe(key))}  ${holders.length} holding, ${waiters.length} waiting${limit}\n`];
  if (holders.length > 0) {
    const rows = holders.map((holder) => [
      ...holderCells(holder, now),
      String(holder.fencingToken),
      holder.since.toISOString(),
    ]);
    parts.push(table(style, ['HELD', 'BY', 'CLIENT', 'FOR', 'LEASE LEFT', 'TOKEN', 'SINCE'], rows));
  }
  if (waiters.length > 0) {
    const rows = waiters.map((waiter, i) => [
      String(i + 1),
      kindName(waiter),
      ownerName(waiter),
      clientName(waiter.client),
    ]);
    // The waiting calls of a client share one ticket.
    parts.push(table(style, ['NEXT', 'WANTED', 'BY', 'CLIENT'], rows));
  }
  return parts.join('\n');
}
