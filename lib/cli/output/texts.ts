import { withoutSecret } from '../../common/credentials.js';
import { printable } from '../../common/describe.js';
import type { LockWaiter } from '../../service/lock-state.js';

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const;

/** Formats a duration in up to two units: `250 ms`, `12.3 s`, `3m 5s`, `2d 4h`. */
export function time(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const first = UNITS.findIndex(([length]) => ms >= length);
  const [[large, name], [small, smallName]] = [UNITS[first]!, UNITS[first + 1]!];
  return `${Math.floor(ms / large)}${name} ${Math.floor((ms % large) / small)}${smallName}`;
}

/** The first of a client's 32 digits: enough to tell a few clients apart. */
export const clientName = (client: string): string => safe(client.slice(0, 8));

/** Text from other programs, made safe for the terminal. */
export const safe = printable;

/** The same for JSON: control characters are written as escapes such as `\\u009b`, which parse to the same text. */
export const safeJson = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).split('\n').map(printable).join('\n');

/** The label of a client, or else the first digits of its id. */
export const labelName = ({
  label,
  client,
}: Pick<LockWaiter, 'client'> & Partial<Pick<LockWaiter, 'label'>>): string =>
  label ? withoutSecret(label) : clientName(client);

/** The owner that a caller named. */
export const ownerName = ({ owner, client }: LockWaiter): string | undefined =>
  owner.startsWith(`${client}:`) ? undefined : safe(owner);

export const kindName = ({ kind, units }: LockWaiter): string => (kind === 'permits' ? counted(units, 'permit') : kind);

/** Writes a count in groups of three digits: `4 980`. */
export const grouped = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ');

/** A count with its noun: `1 hold`, `4 980 holds`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : plural}`;

/** The first names of a list. */
export const listed = (names: readonly string[], most: number): string =>
  `${names.slice(0, most).join(', ')}${names.length > most ? ` and ${names.length - most} more` : ''}`;
