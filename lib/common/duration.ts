/** A length of time: a number of milliseconds, or a number with its unit: `'500ms'`, `'30s'`, `'5m'`, `'1h'`, `'1d'`. */
export type Duration = number | string;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WRITTEN = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/;

/**
 * The milliseconds of a duration, or `undefined` when it is not one. `Infinity` is a duration here; whoever takes no
 * endless one says so itself.
 */
export function parseDuration(duration: unknown): number | undefined {
  if (typeof duration === 'number') return duration >= 0 ? duration : undefined;
  if (typeof duration !== 'string') return undefined;
  const [, amount, unit] = WRITTEN.exec(duration.trim()) ?? [];
  if (amount === undefined || unit === undefined) return undefined;
  return Number(amount) * (UNITS[unit] as number);
}
