import { hostname, userInfo } from 'node:os';
import { listed } from '../../common/describe.js';
import type { LockHolder, LockState } from '../../service/lock-state.js';
import { counted, ownerName } from '../../service/party-names.js';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Terminal } from '../output/terminal.js';
import { labelName, safe, safeJson, time } from '../output/texts.js';
import { serverTime, type Session } from '../session.js';
import { isOf } from '../find-locks.js';

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
  const by = `${userName()}@${hostname()}`;
  // Even if the lock looked free: with --force alone, a lock acquired in the meantime has to be released, too.
  const released =
    force && ids?.length !== 0 && (await session.locks.forceRelease(key, { by, ...(ids && { hold: ids }) }));
  const refused = held && !force;
  const after = released ? ((await session.locks.inspect(key))?.holders ?? []) : [];
  const next = after.filter(({ id }) => !holders.some((before) => before.id === id));
  const [done, none] = namesOf(key, hold, holder, holders.length);
  const story = released ? { by, from: holders.map(labelName), next: next.map(labelName) } : {};
  if (json) terminal.write(`${safeJson({ key, hold, holder, held, released, refused, ...story })}\n`);
  else if (refused) terminal.complain(whyRefused({ ...lock!, holders }, await serverTime(session)));
  else if (!released) terminal.write(`${none} with the prefix '${session.prefix}'.\n`);
  else
    terminal.write(
      `${done} was released by ${safe(by)}${named(', from ', holders)}.\n${named('The next holder is ', next) || NO_NEXT}.\n`,
    );
  return refused ? EXIT.no : EXIT.ok;
}

const NO_NEXT = 'No waiter has got the lock yet';
/** How many clients are named. */
const MOST = 5;

const named = (before: string, holders: readonly LockHolder[]): string =>
  holders.length === 0 ? '' : before + safe(listed(holders.map(labelName), MOST));

/** The user of this program. A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

/** What was released, and what there is not. */
function namesOf(key: string, hold: string | undefined, holder: string | undefined, count: number): [string, string] {
  const of = holder === undefined ? '' : ` of '${safe(holder)}'`;
  if (hold !== undefined) return [`Hold ${safe(hold)} of ${safe(key)}`, `${safe(key)} has no hold ${safe(hold)}${of}`];
  if (holder === undefined) return [safe(key), `${safe(key)} is not held`];
  return [`${safe(key)} (${counted(count, 'hold')}${of})`, `${safe(key)} has no hold${of}`];
}

function whyRefused({ key, holders, waiters }: LockState, now: number): string {
  const lines = holders.map((holder) => {
    const age = time(now - holder.since.getTime());
    const left = time(holder.ttl);
    const rest = holder.kept
      ? `it was released, and holdAtLeast keeps the key for ${left}`
      : `its lease has ${left} left, unless the holder renews it`;
    const owner = ownerName(holder);
    const about = [
      ...(owner === undefined ? [] : [`owner ${safe(owner)}`]),
      ...(CONNECTIONS.get(holder.connected) ?? []),
    ];
    const who = `${safe(labelName(holder))}${about.length === 0 ? '' : ` (${about.join(', ')})`}`;
    return `  ${safe(holder.id)}: ${who}, for ${age}; ${rest}\n`;
  });
  const next = waiters.length > 0 ? 'The lock then goes to the next waiter.\n' : '';
  return (
    `${safe(key)} is held, so it was not released:\n${lines.join('')}${adviceFor(holders, now)}` +
    `${next}To release the lock by force, add --force. Add --hold ID or --holder LABEL, too, to end\n` +
    'these holds only.\n'
  );
}

const CONNECTIONS: ReadonlyMap<boolean | undefined, readonly string[]> = new Map([
  [true, ['connected']],
  [false, ['not connected']],
]);

/** What to do, by whether the holders are connected. */
function adviceFor(holders: readonly LockHolder[], now: number): string {
  const holding = holders.filter(({ kept }) => !kept);
  const longest = Math.max(...holders.map(({ ttl }) => ttl));
  const end = `at ${new Date(now + longest).toISOString()}, in ${time(longest)}`;
  const runs =
    'If the holder runs, it is notified of a release by force, but until it stops, two holders can work\nat the same time.\n';
  if (holding.length > 0 && holding.every(({ connected }) => connected === false)) {
    return (
      `No holder is connected, so nothing renews the lock. It ends ${end}. If that is too\n` +
      'long, make sure that the process has ended, since a process that Redis cannot reach may still work.\nThen release the lock by force.\n'
    );
  }
  if (holding.some(({ connected }) => connected === true)) {
    return `A connected holder has not crashed: restart its process, which then releases the lock.\n${runs}`;
  }
  return `If its holder has crashed, the lock ends ${end}. Release it by force if that is\ntoo long. ${runs}`;
}
