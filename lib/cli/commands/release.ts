import type { LockInfo } from '../../service/lock-info.js';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Terminal } from '../output/terminal.js';
import { clientName, ownerName, safe, safeJson, time } from '../output/texts.js';
import { serverTime } from '../server-time.js';
import type { Session } from '../session.js';

/** Releases a lock, or one of its holds. A lock that is held is released only with --force. */
export async function release(
  session: Session,
  { subject, force, hold, json }: CommandLine,
  terminal: Terminal,
): Promise<ExitCode> {
  const key = subject!;
  const lock = await session.locks.inspect(key);
  const holders = (lock?.holders ?? []).filter(({ id }) => hold === undefined || id === hold);
  const held = holders.length > 0;
  // Also if the lock looked free: with --force, a lock acquired in the meantime has to be released, too.
  const released = force && (await session.locks.forceRelease(key, hold === undefined ? {} : { hold }));
  const refused = held && !force;
  const what = hold === undefined ? safe(key) : `Hold ${safe(hold)} of ${safe(key)}`;
  if (json) terminal.write(`${safeJson({ key, hold, held, released, refused })}\n`);
  else if (refused) terminal.complain(whyRefused({ ...lock!, holders }, await serverTime(session)));
  else terminal.write(released ? `${what} was released.\n` : `${what} is not held.\n`);
  return refused ? EXIT.no : EXIT.ok;
}

function whyRefused({ key, holders, waiters }: LockInfo, now: number): string {
  const lines = holders.map((holder) => {
    const age = time(now - holder.since.getTime());
    const rest = holder.kept ? 'has released it, and holdAtLeast ends' : 'is renewed or expires';
    return `  ${safe(holder.id)}: ${ownerName(holder)} of client ${clientName(holder.client)}, for ${age}; it ${rest} within ${time(holder.ttl)}\n`;
  });
  const next = waiters.length > 0 ? 'The lock then goes to the next waiter. ' : '';
  return (
    `${safe(key)} is held, so it was not released:\n${lines.join('')}` +
    'If its holder has crashed, the lock ends with its lease. If the holder runs, it keeps working until it receives\n' +
    `the message, so two holders may overlap for a moment. ${next}To release the lock by force, add --force,\n` +
    'or --force --hold ID to end one hold only.\n'
  );
}
