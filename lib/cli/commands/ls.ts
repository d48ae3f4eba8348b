import { describeForeign } from '../../service/list-locks.js';
import { grouped } from '../../service/party-names.js';
import type { CommandLine } from '../arguments.js';
import { clientChannels, otherPrefixes } from '../doctor/check-clients.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { ALL, findLocks } from '../find-locks.js';
import { locksTable } from '../output/locks-table.js';
import { without, type Terminal } from '../output/terminal.js';
import { safe, safeJson } from '../output/texts.js';
import { serverTime, type Session } from '../session.js';

/** The lines that a terminal needs besides the rows: the headings, and the command and the prompt of the shell. */
const OTHER_LINES = 3;

/** Shows all locks once. */
export async function ls(session: Session, line: CommandLine, terminal: Terminal): Promise<ExitCode> {
  const { locks, skipped } = await findLocks(session, line);
  for (const foreign of skipped) terminal.complain(`${safe(describeForeign(foreign))}\n`);
  if (line.json) terminal.write(`${safeJson(locks, 2)}\n`);
  else if (locks.length === 0) terminal.write(`${await noneOf(session, line)}\n`);
  else {
    const { style, space } = terminal;
    terminal.write(locksTable(style, locks, await serverTime(session), without(space, OTHER_LINES)));
  }
  return EXIT.ok;
}

/** Tells a list without locks from one without matches, and names the prefix, which may be the wrong one. */
export async function noneOf(session: Session, { subject, holder }: CommandLine): Promise<string> {
  const wanted = [subject, holder].flatMap((text) => (text === undefined ? [] : `'${safe(text)}'`));
  const { locks } = wanted.length === 0 ? { locks: [] } : await findLocks(session, ALL);
  if (locks.length === 0) return `No lock is held with the prefix '${session.prefix}'.${await hintOfPrefixes(session)}`;
  return `No lock matches ${wanted.join(' and ')} (${grouped(locks.length)} held).`;
}

/** Names the prefixes of other clients: the prefix of the command may be the wrong one. */
export async function hintOfPrefixes({ deployment, prefix }: Session): Promise<string> {
  const inCluster = deployment.kind === 'cluster';
  const channels = await Promise.all(deployment.servers().map((server) => clientChannels(server, inCluster)));
  const known = channels.flatMap((names) => names ?? []);
  const others = otherPrefixes(known, prefix);
  return others === undefined ? '' : ` Other clients have the prefix ${safe(others)}: choose one with --prefix.`;
}
