import { durationIn } from '../common/duration.js';
import { refuseHiddenOptions, refuseHoles, refuseOtherKinds, refuseUnreadable } from './plain-options.js';
import { LockConfigError } from '../errors/index.js';
import { describe, quote } from '../common/describe.js';

/*
 * Readers turn an option as it was written into the value that is used. Each takes a label for its messages, such as
 * `defaults.expire`, and the value as it was written. It returns milliseconds for a duration, or throws a LockConfigError
 * that says what to write instead.
 */

/** In ms: a lease must outlast a few round trips. A shorter one is usually a mistake for seconds. */
export const SHORTEST_LEASE = 50;
/** In ms: a shorter wait is of no use, so such a number is usually a mistake for seconds. */
export const LONGEST_SUSPICIOUS_WAIT = 49;
/** In days: longer than any job waits for its next run. */
const LONGEST_DURATION = 366;

/** A lease of at least 50 ms, in whole milliseconds, as Redis counts them. */
export function readLease(label: string, written: unknown): number {
  const ms = readDuration(label, written);
  if (ms >= SHORTEST_LEASE) return Math.ceil(ms);
  const hint = typeof written === 'number' && written > 0 ? ` is in milliseconds: write '${written}s'` : '';
  throw new LockConfigError(`${label}${hint || ' is too short'}. It must be at least ${SHORTEST_LEASE} ms.`);
}

/** A lease, or 0 for a lease that is renewed. */
export function readExpire(label: string, written: unknown): number {
  if (durationIn(written) === 0) return 0;
  if (written === Infinity) {
    throw new LockConfigError(
      `${label} is endless: write 0 for a lease that is renewed for as long as the lock is held.`,
    );
  }
  return readLease(label, written);
}

/** A wait: 0 for one try, `Infinity` for no limit. */
export function readWaitTimeout(label: string, written: unknown): number {
  return written === Infinity ? Infinity : readDuration(label, written);
}

/** Any length of time of up to 366 days. */
export function readDuration(label: string, written: unknown): number {
  const ms = durationIn(written);
  if (typeof written === 'string' && /^\s*\d{1,15}\s*$/.test(written)) {
    const amount = Number(written);
    throw new LockConfigError(
      `${label} is ${show(written)}, without a unit: write the number ${amount} for milliseconds, or '${amount}s'.`,
    );
  }
  if (ms === undefined) {
    throw new LockConfigError(
      `${label} is ${show(written)}; write milliseconds, or a text such as '500ms', '30s', '5m'.`,
    );
  }
  if (ms > LONGEST_DURATION * 86_400_000) {
    throw new LockConfigError(
      `${label} is ${show(written)}; the longest possible is ${LONGEST_DURATION} days: write '${LONGEST_DURATION}d' or less.`,
    );
  }
  return ms;
}

/** A maximum number of times; 0 is without limit. */
export function readTimes(label: string, written: unknown): number {
  if (typeof written === 'number' && Number.isInteger(written) && written >= 0) return written;
  throw new LockConfigError(`${label} is ${show(written)}; write a whole number, or 0 for no limit.`);
}

/** A whole number of at least `least`. */
export function readCount(label: string, written: unknown, least: number): number {
  if (typeof written === 'number' && Number.isSafeInteger(written) && written >= least) return written;
  throw new LockConfigError(`${label} is ${show(written)}; write a whole number of at least ${least}.`);
}

/** A list of known words. */
export function readWords<T extends string>(label: string, written: unknown, known: readonly T[]): readonly T[] {
  if (!Array.isArray(written))
    throw new LockConfigError(`${label} is ${show(written)}; write a list of ${known.join(', ')}.`);
  refuseHoles(label, written);
  written.forEach((word: unknown, i) => {
    if (known.includes(word as T)) return;
    const meant = typeof word === 'string' ? suggestion(word, known) : undefined;
    const hint = meant === undefined ? `write one of ${known.join(', ')}` : `did you mean '${meant}'?`;
    throw new LockConfigError(`${label}[${i}] is ${show(word)}: ${hint}`);
  });
  return written as T[];
}

/** The status of an HTTP error. */
export function readErrorStatus(label: string, written: unknown): number {
  if (typeof written === 'number' && Number.isInteger(written) && written >= 400 && written <= 599) return written;
  throw new LockConfigError(`${label} is ${show(written)}; write the status of an HTTP error, such as 423 or 409.`);
}

/** Increasing bounds. */
export function readBounds(label: string, written: unknown): readonly number[] {
  if (!Array.isArray(written) || written.length === 0) {
    throw new LockConfigError(
      `${label} is ${show(written)}; write a list of increasing numbers, such as [0.01, 0.1, 1].`,
    );
  }
  refuseHoles(label, written);
  written.forEach((bound: unknown, i) => {
    if (typeof bound === 'number' && Number.isFinite(bound) && (i === 0 || bound > Number(written[i - 1]))) return;
    throw new LockConfigError(`${label}[${i}] is ${show(bound)}; write increasing numbers, such as [0.01, 0.1, 1].`);
  });
  return written as number[];
}

/** Checks that an object, such as a logger, has the methods that the library calls. */
export function refuseWithoutMethods(label: string, given: unknown, methods: readonly string[], example: string): void {
  const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function';
  if (isObject && methods.every((name) => typeof (given as Record<string, unknown>)[name] === 'function')) return;
  throw new LockConfigError(`${label} is ${show(given)} without ${methods.join(', ')}: give ${example}.`);
}

/** A function of the user. */
export function readListener(label: string, written: unknown): (...args: any[]) => unknown {
  if (typeof written === 'function') return written as (...args: any[]) => unknown;
  throw new LockConfigError(`${label} is ${show(written)}; write a function.`);
}

/** A boolean; `false` if it was left out. */
export function readFlag(label: string, written: unknown): boolean {
  if (written === undefined) return false;
  if (typeof written === 'boolean') return written;
  throw new LockConfigError(`${label} is ${show(written)}; write true or false.`);
}

/** One of a few words, or a function. */
export function readChoice<T extends string>(label: string, written: unknown, words: readonly T[]): void {
  if (typeof written === 'function' || words.includes(written as T)) return;
  const choices = words.map((word) => `'${word}'`).join(', ');
  throw new LockConfigError(`${label} is ${show(written)}; write ${choices} or a function.`);
}

/** What stands behind the name of a function in a right call. */
const EXAMPLES: Readonly<Record<string, string>> = {
  RedisLockModule: ".forRoot({ connection: 'redis://…' })",
  'RedisLockModule.forRootAsync': '({ useFactory: () => ({ … }) })',
  createLockClient: "({ connection: 'redis://…' })",
  getSemaphore: '(key, { permits: 5 })',
  acquire: "(key, { waitTimeout: '5s' })",
  run: "(key, task, { waitTimeout: '5s' })",
  list: "({ match: 'stock:*' })",
};

/** Refuses a value that is no object of options: a number, for example, would be ignored silently. */
export function refuseAllButObjects(label: string, written: unknown): asserts written is object {
  if (typeof written === 'object' && written !== null && !Array.isArray(written)) return;
  const example = Object.hasOwn(EXAMPLES, label) ? `: write ${label}${EXAMPLES[label]}` : '';
  throw new LockConfigError(`${label} takes an object of options; this is ${show(written)}${example}.`);
}

/** Refuses an unknown option by name, with the name that was probably meant, and an option that is not an own property. */
export function refuseUnknownOptions(label: string, written: unknown, known: readonly string[]): void {
  refuseUnreadable(label, () => refuseOptions(label, written, known));
}

function refuseOptions(label: string, written: unknown, known: readonly string[]): void {
  refuseAllButObjects(label, written);
  refuseOtherKinds(label, written);
  const unknown = Reflect.ownKeys(written)
    .find((name) => !known.includes(name as string))
    ?.toString();
  if (unknown === undefined) return refuseHiddenOptions(label, written, known);
  const meant = suggestion(unknown, known);
  const example = meant === 'match' ? ` Write list${EXAMPLES['list']}, in which * stands for any text.` : '';
  const hint = meant === undefined ? `the options are ${known.join(', ')}` : `did you mean '${meant}'?${example}`;
  throw new LockConfigError(`${label} has no option ${quote(unknown)}: ${hint}`);
}

/** The names that other lock libraries use, and the names here. */
const ELSEWHERE: Readonly<Record<string, string | readonly string[]>> = {
  ttl: 'expire',
  lease: 'expire',
  leaseTime: 'expire',
  lockAtMostFor: 'expire',
  duration: 'expire',
  timeout: 'waitTimeout',
  waitTime: 'waitTimeout',
  wait: 'waitTimeout',
  lockAtLeastFor: 'holdAtLeast',
  name: ['key', 'instance'],
  keys: 'key',
  type: 'kind',
  lockType: 'kind',
  mode: 'kind',
  lockWatchdogTimeout: 'renewedLease',
  concurrency: 'permits',
  maxConcurrent: 'permits',
  url: 'connection',
  redis: 'connection',
  prefix: ['keyPrefix', 'match'],
  keyPrefix: 'match',
  pattern: 'match',
  connection: 'instance',
};

function suggestion(unknown: string, known: readonly string[]): string | undefined {
  const meanings = Object.hasOwn(ELSEWHERE, unknown) ? [ELSEWHERE[unknown]].flat() : [];
  const translated = known.find((name) => meanings.includes(name));
  if (translated !== undefined) return translated;
  // A longer text is near no option.
  const text = unknown.slice(0, 100).toLowerCase();
  const near = known
    .map((name) => ({ name, distance: editDistance(text, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near !== undefined && near.distance <= Math.max(2, Math.floor(text.length / 3)) ? near.name : undefined;
}

/** The Levenshtein distance, computed row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}

const show = (written: unknown): string =>
  typeof written === 'string' && written !== ''
    ? quote(written)
    : typeof written === 'number'
      ? String(written)
      : describe(written);
