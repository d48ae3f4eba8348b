import { describeForeign } from '../../service/inspect-several.js';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { findLocks } from '../find-locks.js';
import { locksTable } from '../output/locks-table.js';
import type { Terminal } from '../output/terminal.js';
import { safe, safeJson } from '../output/texts.js';
import { serverTime } from '../server-time.js';
import type { Session } from '../session.js';

/** Shows all locks once. */
export async function ls(session: Session, { subject, json }: CommandLine, terminal: Terminal): Promise<ExitCode> {
  const { locks, skipped } = await findLocks(session, subject);
  for (const foreign of skipped) terminal.complain(`${safe(describeForeign(foreign))}\n`);
  if (json) terminal.write(`${safeJson(locks, 2)}\n`);
  else if (locks.length === 0) terminal.write('No lock is held.\n');
  else terminal.write(locksTable(terminal.style, locks, await serverTime(session)));
  return EXIT.ok;
}
