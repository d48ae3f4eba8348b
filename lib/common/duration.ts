/**
 * A duration: a number of milliseconds, or a number with its unit: `'500ms'`, `'30s'`, `'5m'`, `'1h'`, `'1d'`. For a text
 * that is only known at run time, such as an environment variable, use `parseDuration(text)`.
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WRITTEN = /^(\S+?)\s*(ms|s|m|h|d)$/;

/**
 * Returns the milliseconds of a duration, or `undefined` if the value is none. `Infinity` counts as a duration; a caller
 * that needs a finite one checks that itself.
 */
export function durationIn(duration: unknown): number | undefined {
  if (typeof duration === 'number') return duration >= 0 ? duration : undefined;
  if (typeof duration !== 'string') return undefined;
  const [, amount, unit] = WRITTEN.exec(duration.trim()) ?? [];
  if (amount === undefined || unit === undefined) return undefined;
  // As the type `Duration` does, it admits every form of a number.
  const ms = Number(amount) * (UNITS[unit] as number);
  return ms >= 0 && Number.isFinite(ms) ? ms : undefined;
}
