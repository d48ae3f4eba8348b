import { durationIn } from '../common/duration.js';
import { isPlainly, refuseHiddenOptions, refuseHoles, refuseOtherKinds } from './plain-options.js';
import { LockConfigError } from '../errors/index.js';
import { describe, quote } from '../common/describe.js';
import { refuseUrls } from '../common/refuse-urls.js';

/**
 * Turns an option as it was written into the value that is used, a duration into milliseconds. Throws a LockConfigError
 * that begins with the label, such as `defaults.expire`, and says what to write instead.
 */
export type OptionReader<Read = any> = (label: string, written: unknown) => Read;

/** Refuses a value, and says what to write instead. */
export function refuse(label: string, written: unknown, instead: string): never {
  throw new LockConfigError(`${label} is ${show(written)}; write ${instead}.`);
}

/** The reader of values that are used as they are written. */
export const checked =
  <Read>(accepts: (written: any) => boolean, instead: string): OptionReader<Read> =>
  (label, written) =>
    accepts(written) ? (written as Read) : refuse(label, written, instead);

export const isText = (written: unknown): written is string => typeof written === 'string' && written.trim() !== '';
export const isFunction = (written: unknown): boolean => typeof written === 'function';

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
      `${label} is ${show(written)}, without a unit: write the number ${amount} for milliseconds, or '${amount}ms', or '${amount}s'.`,
    );
  }
  if (ms === undefined) return refuse(label, written, "milliseconds, or a text such as '500ms', '30s', '5m'");
  if (ms <= LONGEST_DURATION * 86_400_000) return ms;
  throw new LockConfigError(
    `${label} is ${show(written)}; the longest possible is ${LONGEST_DURATION} days: write '${LONGEST_DURATION}d' or less.`,
  );
}

/** Redis counts whole milliseconds. */
export const readWholeDuration: OptionReader<number> = (label, written) => Math.ceil(readDuration(label, written));

/**
 * Reads a duration from a text that is only known at run time, such as an environment variable, and returns milliseconds:
 * `renewedLease: parseDuration(config.getOrThrow('LOCK_LEASE'))`. The text must have a unit: `'500ms'`, `'30s'`, `'5m'`,
 * `'1h'`, `'1d'`.
 * @throws LockConfigError for any other text, and for more than 366 days
 */
export const parseDuration = (text: string): number => readDuration('parseDuration(text)', text);

export const readTimes = checked<number>((n) => Number.isInteger(n) && n >= 0, 'a whole number, or 0 for no limit');

/** A whole number of at least `least`. */
export const readCount = (label: string, written: unknown, least: number, most = Infinity): number =>
  Number.isSafeInteger(written) && Number(written) >= least && Number(written) <= most
    ? Number(written)
    : refuse(label, written, `a whole number of at least ${least}${most < Infinity ? `, and ${most} or less` : ''}`);

export const readListener = checked<(...args: any[]) => unknown>(isFunction, 'a function');
export const readFlag = checked<boolean>((written) => typeof written === 'boolean', 'true or false');

/** One of a few words, or a function. */
export const choice = <Word>(...words: string[]): OptionReader<Word> =>
  checked(
    (written: unknown) => isFunction(written) || words.includes(written as string),
    `${words.map((word) => `'${word}'`).join(', ')} or a function`,
  );

/** The name of a module instance. */
export function readInstanceName(label: string, written: unknown): string {
  refuseUrls(label, written);
  return isText(written) ? written : refuse(label, written, "the name of a RedisLockModule, such as 'jobs'");
}

/** A list, whose elements the messages name by their position. */
export function readList<Read>(label: string, written: unknown, read: OptionReader<Read>, instead: string): Read[] {
  if (!Array.isArray(written) || written.length === 0) return refuse(label, written, instead);
  refuseHoles(label, written);
  return written.map((each, i) => read(`${label}[${i}]`, each));
}

/** Checks that an object, such as a logger, has the methods that the library calls. */
export function refuseWithoutMethods(label: string, given: unknown, methods: readonly string[], example: string): void {
  const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function';
  if (isObject && methods.every((name) => typeof (given as Record<string, unknown>)[name] === 'function')) return;
  throw new LockConfigError(`${label} is ${show(given)} without ${methods.join(', ')}: give ${example}.`);
}

/** Options that are written in one object: how each is read, and what applies if it was left out. */
export class Options<Readers extends Readonly<Record<string, OptionReader>>, Unwritten extends object = object> {
  readonly names: readonly string[];
  private readonly readers: ReadonlyMap<string, OptionReader>;
  private readonly unwritten: Record<string, unknown>;

  constructor(readers: Readers, unwritten?: Unwritten) {
    this.readers = new Map(Object.entries(readers));
    this.names = [...this.readers.keys()];
    // Names all of them: an option that was left out must not be found in a polluted Object.prototype.
    this.unwritten = { ...Object.fromEntries(this.names.map((name) => [name, undefined])), ...unwritten };
  }

  /**
   * Reads an object of these options. `undefined` counts as left out, `null` does not.
   * @param prefix stands before the name of an option in messages, such as `defaults.`
   * @param more names of options that the caller reads itself
   * @throws LockConfigError for the first option that cannot be used
   */
  read(
    label: string,
    written: object,
    prefix = '',
    more: readonly string[] = [],
  ): Omit<{ readonly [Name in keyof Readers]: ReturnType<Readers[Name]> | undefined }, keyof Unwritten> & {
    readonly [Name in keyof Unwritten]: Name extends keyof Readers ? ReturnType<Readers[Name]> : Unwritten[Name];
  } {
    if (more.length > 0 || !isPlainly(written, this.names))
      refuseUnknownOptions(label, written, [...this.names, ...more]);
    const options: Record<string, unknown> = { ...this.unwritten };
    for (const name of Object.keys(written)) {
      const read = this.readers.get(name);
      const value = (written as Record<string, unknown>)[name];
      if (read !== undefined && value !== undefined) options[name] = read(prefix + name, value);
    }
    return options as unknown as ReturnType<this['read']>;
  }
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

/** The option of a list that was probably meant. */
export function suggestion(unknown: string, known: readonly string[]): string | undefined {
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
    : typeof written === 'number' || typeof written === 'boolean'
      ? String(written)
      : describe(written);
