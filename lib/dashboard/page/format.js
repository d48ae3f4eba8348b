const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
];

/** Formats a duration in up to two units: `250 ms`, `12.3 s`, `3m 5s`, `2d 4h`. */
export function time(ms) {
  if (ms < 10 && ms > 0) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const first = UNITS.findIndex(([length]) => ms >= length);
  const [[large, name], [small, smallName]] = [UNITS[first], UNITS[first + 1]];
  return `${Math.floor(ms / large)}${name} ${Math.floor((ms % large) / small)}${smallName}`;
}

/** Control and format characters, such as text direction; line separators; and lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** Makes unusual characters of a text from other programs visible. */
export const visible = (text) =>
  text.replace(UNPRINTABLE, (char) =>
    Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );

/** The first of a client's 32 digits: enough to tell a few clients apart. */
export const clientName = (client) => client.slice(0, 8);

export const count = (number) => number.toLocaleString('en');

/** Formats a number per second. */
export const rate = (number) => (number >= 10 ? count(Math.round(number)) : String(Math.round(number * 10) / 10));

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The upper bound of a bucket in ms. The last bucket has none. */
export const boundOf = ({ first, perDecade, count: buckets }, i) =>
  i >= buckets - 1 ? Infinity : first * 10 ** (i / perDecade);

/** The duration below which this part of all values lies, rounded up to a bucket; `undefined`: there are no values. */
export function quantile(buckets, counts, part) {
  const total = sum(counts);
  if (total === 0) return undefined;
  let rest = Math.ceil(part * total);
  const i = counts.findIndex((each) => (rest -= each) <= 0);
  return boundOf(buckets, i);
}

/** The process that serves the page. */
export const processName = ({ process: { label, host, pid } }) => visible(label ?? `${host}:${pid}`);

/** A time of day. */
export const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** A time of day, with the date if it is not today. */
export const moment = (ms) =>
  new Date(ms).toDateString() === new Date().toDateString() ? clock(ms) : `${DAY.format(ms)}, ${clock(ms)}`;

/** The method and the pattern of a call, unless the pattern is the key itself. */
export const callName = ({ method, pattern }, key) =>
  [method, pattern === key ? undefined : pattern]
    .filter((each) => each !== undefined)
    .map(visible)
    .join(' · ');
