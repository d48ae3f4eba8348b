const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
];

/** A length of time, to two units: `250 ms`, `12.3 s`, `3m 5s`, `2d 4h`. */
export function time(ms) {
  if (ms < 10 && ms > 0) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const first = UNITS.findIndex(([length]) => ms >= length);
  const [[large, name], [small, smallName]] = [UNITS[first], UNITS[first + 1]];
  return `${Math.floor(ms / large)}${name} ${Math.floor((ms % large) / small)}${smallName}`;
}

/** Controls, format characters such as text direction, line separators, and halves of a surrogate pair. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** A text of others, which looks like what it is. */
export const visible = (text) =>
  text.replace(UNPRINTABLE, (char) =>
    Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );

/** Of a client's 32 digits as many as tell a few clients apart. */
export const clientName = (client) => client.slice(0, 8);

/** An owner that a caller named; one that nobody named is its acquisition. */
export const ownerName = ({ owner, client }) =>
  visible(owner.startsWith(`${client}:`) ? clientName(client) + owner.slice(client.length) : owner);

export const kindName = ({ type, units }) =>
  type === 'permits' ? `${units} permit${units === 1 ? '' : 's'}` : type;

export const count = (number) => number.toLocaleString('en');

/** A number of something for each second. */
export const rate = (number) => (number >= 10 ? count(Math.round(number)) : String(Math.round(number * 10) / 10));

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The upper end of a bucket in ms; the last one has none. */
export const boundOf = ({ first, perDecade, count: buckets }, i) =>
  i >= buckets - 1 ? Infinity : first * 10 ** (i / perDecade);

/** Below which time so much of all lies, as far as buckets tell; `undefined` when there is nothing. */
export function quantile(buckets, counts, part) {
  const total = sum(counts);
  if (total === 0) return undefined;
  let rest = Math.ceil(part * total);
  const i = counts.findIndex((each) => (rest -= each) <= 0);
  return boundOf(buckets, i);
}

/** A time of day. */
export const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');
