import type { LockState } from '../../service/lock-state.js';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Terminal } from '../output/terminal.js';
import { labelName, ownerName, safe, safeJson, time } from '../output/texts.js';
import { serverTime } from '../server-time.js';
import { isOf } from '../sort-locks.js';
import type { Session } from '../session.js';

/** Releases a lock, or one of its holds. A lock that is held is released only with --force. */
export async function release(
  session: Session,
  { subject, force, hold, holder, json }: CommandLine,
  terminal: Terminal,
): Promise<ExitCode> {
  const key = subject!;
  const lock = await session.locks.inspect(key);
  const holders = (lock?.holders ?? []).filter(
    (each) => (hold === undefined || each.id === hold) && (holder === undefined || isOf(each, holder)),
  );
  const held = holders.length > 0;
  const ids = hold === undefined && holder === undefined ? undefined : holders.map(({ id }) => id);
  // Even if the lock looked free: with --force alone, a lock acquired in the meantime has to be released, too.
  const released = force && ids?.length !== 0 && (await session.locks.forceRelease(key, ids && { hold: ids }));
  const refused = held && !force;
  const [done, none] = namesOf(key, hold, holder, holders.length);
  if (json) terminal.write(`${safeJson({ key, hold, holder, held, released, refused })}\n`);
  else if (refused) terminal.complain(whyRefused({ ...lock!, holders }, await serverTime(session)));
  else terminal.write(released ? `${done} was released.\n` : `${none} with the prefix '${session.prefix}'.\n`);
  return refused ? EXIT.no : EXIT.ok;
}

/** What was released, and what there is not. */
function namesOf(key: string, hold: string | undefined, holder: string | undefined, count: number): [string, string] {
  const of = holder === undefined ? '' : ` of '${safe(holder)}'`;
  if (hold !== undefined) return [`Hold ${safe(hold)} of ${safe(key)}`, `${safe(key)} has no hold ${safe(hold)}${of}`];
  if (holder === undefined) return [safe(key), `${safe(key)} is not held`];
  return [`${safe(key)} (${count} hold${count === 1 ? '' : 's'}${of})`, `${safe(key)} has no hold${of}`];
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
  const longest = Math.max(...holders.map(({ ttl }) => ttl));
  const next = waiters.length > 0 ? 'The lock then goes to the next waiter. ' : '';
  return (
    `${safe(key)} is held, so it was not released:\n${lines.join('')}` +
    `If its holder has crashed, the lock ends with its lease, in ${time(longest)}: wait, or release it by force if that is\n` +
    'too long. If the holder runs, it is notified, but until it stops, two holders can work at the same time.\n' +
    `${next}To release the lock by force, add --force. Add --hold ID or --holder LABEL, too, to end\n` +
    'these holds only.\n'
  );
}
