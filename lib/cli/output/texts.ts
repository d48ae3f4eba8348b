import { printable } from '../../common/describe.js';
import type { LockHolderInfo, LockWaiterInfo } from '../../service/lock-info.js';

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

/** The owner that a caller named. An owner that no caller named is the acquisition itself. */
export function ownerName({ owner, client }: LockHolderInfo | LockWaiterInfo): string {
  return safe(owner.startsWith(`${client}:`) ? clientName(client) + owner.slice(client.length) : owner);
}

export function kindName({ type, units }: LockHolderInfo | LockWaiterInfo): string {
  return type === 'permits' ? `${units} permit${units === 1 ? '' : 's'}` : type;
}
