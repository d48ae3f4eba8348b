import { withoutSecret } from '../../common/credentials.js';
import { printable } from '../../common/describe.js';
import type { LockWaiter } from '../../service/lock-state.js';
import { clientName } from '../../service/party-names.js';

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
