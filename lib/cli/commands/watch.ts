import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { describeForeign } from '../../service/inspect-several.js';
import { foreignError } from '../../store/redis/foreign-error.js';
import { findLocks } from '../find-locks.js';
import { locksTable } from '../output/locks-table.js';
import { CLEAR, type Terminal } from '../output/terminal.js';
import { safe, safeJson } from '../output/texts.js';
import { serverTime } from '../server-time.js';
import type { Session } from '../session.js';

/**
 * Shows all locks until SIGINT or SIGTERM. With --json, each refresh writes one line. A failed refresh is reported, and
 * the next one follows.
 */
export async function watch(session: Session, line: CommandLine, terminal: Terminal): Promise<ExitCode> {
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const end = once(stopped.signal, 'abort');
    while (!stopped.signal.aborted) {
      await Promise.race([look(session, line, terminal, stopped.signal), end]);
      await sleep(line.interval, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
  return EXIT.ok;
}

async function look(
  session: Session,
  { subject, json }: CommandLine,
  terminal: Terminal,
  stopped: AbortSignal,
): Promise<void> {
  const { style, isInteractive } = terminal;
  try {
    const { locks, skipped } = await findLocks(session, subject);
    const notes = skipped.map((foreign) => `${safe(describeForeign(foreign))}\n`).join('');
    if (json) {
      if (notes !== '') terminal.complain(notes);
      return terminal.write(`${safeJson({ at: new Date(), locks })}\n`);
    }
    const now = await serverTime(session);
    const waiting = locks.reduce((sum, { waiters }) => sum + waiters.length, 0);
    const heading = style.dim(`${new Date(now).toISOString()}  ${locks.length} locked, ${waiting} waiting`);
    terminal.write(
      `${isInteractive ? CLEAR : ''}${heading}\n${locksTable(style, locks, now)}${notes}${isInteractive ? '' : '\n'}`,
    );
  } catch (error) {
    // A request that the end of the program interrupts has not failed.
    if (!stopped.aborted) terminal.complain(`${safe(foreignError(error).message)}\n`);
  }
}
