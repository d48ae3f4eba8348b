import type { LockState } from '../../service/lock-state.js';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Terminal } from '../output/terminal.js';
import { labelName, ownerName, safe, safeJson, time } from '../output/texts.js';
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
  // Even if the lock looked free: with --force, a lock acquired in the meantime has to be released, too.
  const released = force && (await session.locks.forceRelease(key, hold === undefined ? {} : { hold }));
  const refused = held && !force;
  const done = hold === undefined ? safe(key) : `Hold ${safe(hold)} of ${safe(key)}`;
  const none = hold === undefined ? `${safe(key)} is not held` : `${safe(key)} has no hold ${safe(hold)}`;
  if (json) terminal.write(`${safeJson({ key, hold, held, released, refused })}\n`);
  else if (refused) terminal.complain(whyRefused({ ...lock!, holders }, await serverTime(session)));
  else terminal.write(released ? `${done} was released.\n` : `${none} with the prefix '${session.prefix}'.\n`);
  return refused ? EXIT.no : EXIT.ok;
}

function whyRefused({ key, holders, waiters }: LockState, now: number): string {
  const lines = holders.map((holder) => {
    const age = time(now - holder.since.getTime());
    const left = time(holder.ttl);
    const rest = holder.kept
      ? `it was released, and holdAtLeast keeps the key for ${left}`
      : `its lease has ${left} left, unless the holder renews it`;
    const owner = ownerName(holder);
    const who = `${safe(labelName(holder))}${owner === '-' ? '' : ` (owner ${owner})`}`;
    return `  ${safe(holder.id)}: ${who}, for ${age}; ${rest}\n`;
  });
  const next = waiters.length > 0 ? 'The lock then goes to the next waiter. ' : '';
  return (
    `${safe(key)} is held, so it was not released:\n${lines.join('')}` +
    'If its holder has crashed, do nothing: the lock ends with its lease. If the holder runs, it is notified, but until it\n' +
    `stops, two holders can work at the same time. ${next}To release the lock by force,\n` +
    'add --force, or --force --hold ID to end one hold only.\n'
  );
}
