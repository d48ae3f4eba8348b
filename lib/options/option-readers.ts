import { types } from 'node:util';
import { describe, oneLine, quote } from '../common/describe.js';
import { durationIn } from '../common/duration.js';
import { refuseUrls } from '../common/refuse-urls.js';
import { LockConfigError } from '../errors/index.js';

/**
 * Turns an option as it was written into the value that is used, a duration into milliseconds. Throws a LockConfigError
 * that begins with the label, such as `defaults.expire`, and says what to write instead.
 */
export type OptionReader<Read = any> = (label: string, written: unknown) => Read;

/** Refuses a value, and says what to write instead. */
export function refuse(label: string, written: unknown, instead: string): never {
  throw fault(label, written, `; write ${instead}`);
}

/** @param rest what is wrong with the value, and what to write instead */
export const fault = (label: string, written: unknown, rest: string): LockConfigError =>
  new LockConfigError(`${label} is ${show(written)}${rest}.`);

/** The reader of values that are used as they are written. */
export const checked =
  <Read>(accepts: (written: any) => boolean, instead: string): OptionReader<Read> =>
  (label, written) =>
    accepts(written) ? (written as Read) : refuse(label, written, instead);

/** One of a few words. */
export const oneOf = <Word>(words: readonly Word[], instead: string): OptionReader<Word> =>
  checked((written: unknown) => words.includes(written as Word), instead);

/** A text that matches a pattern. */
export const text = (pattern: RegExp, instead: string): OptionReader<string> =>
  checked((written: unknown) => typeof written === 'string' && pattern.test(written), instead);

/** A function. */
export const func = <Func>(instead: string): OptionReader<Func> => checked(isFunction, instead);

export const isText = (written: unknown): written is string => typeof written === 'string' && written.trim() !== '';
export const isFunction = (written: unknown): boolean => typeof written === 'function';
export const isObject = (written: unknown): written is object => typeof written === 'object' && written !== null;

/** In ms: a lease must outlast a few round trips. A shorter one is usually a mistake for seconds. */
const SHORTEST_LEASE = 50;
/** In days: longer than any job waits for its next run. */
const LONGEST_DURATION = 366;

/** Readers of values that several tables have. */
export const read = {
  /** The value as it was written: another place checks it. */
  asWritten: (_label: string, written: unknown): unknown => written,

  /** Any length of time of up to 366 days. */
  duration: (label: string, written: unknown): number => {
    const ms = durationIn(written);
    if (ms !== undefined && ms <= LONGEST_DURATION * 86_400_000) return ms;
    const [, amount] = /^\s*(\d{1,15})\s*$/.exec(typeof written === 'string' ? written : '') ?? [];
    if (ms !== undefined) {
      const longest = `the longest possible is ${LONGEST_DURATION} days`;
      throw fault(label, written, `; ${longest}: write '${LONGEST_DURATION}d' or less`);
    }
    if (amount === undefined) return refuse(label, written, "milliseconds, or a text such as '500ms', '30s', '5m'");
    const n = Number(amount);
    throw fault(label, written, `, without a unit: write the number ${n} for milliseconds, or '${n}ms', or '${n}s'`);
  },

  /** Redis counts whole milliseconds. */
  wholeDuration: (label: string, written: unknown): number => Math.ceil(read.duration(label, written)),

  /** A wait: 0 for one try, `Infinity` for no limit. */
  wait: (label: string, written: unknown): number => (written === Infinity ? Infinity : read.duration(label, written)),

  /** A lease of at least 50 ms, in whole milliseconds. */
  lease: (label: string, written: unknown): number => {
    const ms = read.duration(label, written);
    if (ms >= SHORTEST_LEASE) return Math.ceil(ms);
    const why = typeof written === 'number' && ms > 0 ? `is in milliseconds: write '${written}s'` : 'is too short';
    throw new LockConfigError(`${label} ${why}. It must be at least ${SHORTEST_LEASE} ms.`);
  },

  /** A lease, or 0 for a lease that is renewed. */
  expire: (label: string, written: unknown): number => {
    if (durationIn(written) === 0) return 0;
    if (written !== Infinity) return read.lease(label, written);
    const renewed = 'a lease that is renewed for as long as the lock is held';
    throw new LockConfigError(`${label} is endless: write 0 for ${renewed}.`);
  },

  /** A whole number of at least `least`. */
  count: (label: string, written: unknown, least = 1, most = Infinity): number => {
    const n = Number.isSafeInteger(written) ? Number(written) : NaN;
    if (n >= least && n <= most) return n;
    const bound = most < Infinity ? `, and ${most} or less` : '';
    return refuse(label, written, `a whole number of at least ${least}${bound}`);
  },

  flag: checked<boolean>((written) => typeof written === 'boolean', 'true or false'),
  listener: func<(...args: any[]) => unknown>('a function'),

  /** The name of a module instance. */
  instance: (label: string, written: unknown): string => {
    refuseUrls(label, written);
    return isText(written) ? written : refuse(label, written, "the name of a RedisLockModule, such as 'jobs'");
  },

  /** A list, whose elements the messages name by their position. */
  list: <Read>(
    label: string,
    written: unknown,
    each: OptionReader<Read>,
    instead: string,
    refused = refuse,
  ): Read[] => {
    if (!Array.isArray(written) || written.length === 0) return refused(label, written, instead);
    refuseHoles(label, written);
    return written.map((element, i) => each(`${label}[${i}]`, element));
  },
};

/**
 * Reads a duration from a text that is only known at run time, such as an environment variable, and returns milliseconds:
 * `renewedLease: parseDuration(config.getOrThrow('LOCK_LEASE'))`. The text must have a unit: `'500ms'`, `'30s'`, `'5m'`,
 * `'1h'`, `'1d'`.
 * @throws LockConfigError for any other text, and for more than 366 days
 */
export const parseDuration = (text: string): number => read.duration('parseDuration(text)', text);

/** Checks that an object, such as a logger, has the methods that the library calls. */
export function refuseWithoutMethods(label: string, given: unknown, methods: readonly string[], example: string): void {
  const has = (name: string): boolean => isFunction((given as Record<string, unknown>)[name]);
  if ((isObject(given) || isFunction(given)) && methods.every(has)) return;
  throw fault(label, given, ` without ${methods.join(', ')}: give ${example}`);
}

/** The index of the first hole of a list, which `map` and `every` would skip. */
export function holeIn(list: readonly unknown[]): number | undefined {
  for (let i = 0; i < list.length; i++) if (!Object.hasOwn(list, i)) return i;
  return undefined;
}

/** @throws LockConfigError for a list with a hole */
export function refuseHoles(label: string, list: readonly unknown[]): void {
  const hole = holeIn(list);
  if (hole === undefined) return;
  throw new LockConfigError(`${label}[${hole}] is missing: there are two commas in a row, or it was deleted.`);
}

/** Names that are allowed, too: the caller reads these options itself. `'any'`: every name. */
type MoreNames = readonly string[] | 'any';

/** Options that are written in one object: how each is read, and what applies if it was left out. */
export class Options<Readers extends Readonly<Record<string, OptionReader>>, Unwritten extends object = object> {
  readonly names: readonly string[];
  private readonly known: ReadonlyMap<string, OptionReader>;
  private readonly unwritten: Record<string, unknown>;

  /** @param elsewhere the end of the message about a name that belongs elsewhere */
  constructor(
    readonly readers: Readers,
    unwritten?: Unwritten,
    private readonly elsewhere?: (name: string) => string | undefined,
  ) {
    this.known = new Map(Object.entries(readers));
    this.names = [...this.known.keys()];
    // Names all of them: an option that was left out must not be found in a polluted Object.prototype.
    this.unwritten = { ...Object.fromEntries(this.names.map((name) => [name, undefined])), ...unwritten };
  }

  /**
   * Reads an object of these options. `undefined` counts as left out, `null` does not.
   * @param prefix stands before the name of an option in messages, such as `defaults.`
   * @param more names that the caller reads itself
   * @throws LockConfigError for the first option that cannot be used
   */
  read(
    label: string,
    written: unknown,
    prefix = '',
    more: MoreNames = [],
  ): Omit<{ readonly [Name in keyof Readers]: ReturnType<Readers[Name]> | undefined }, keyof Unwritten> & {
    readonly [Name in keyof Unwritten]: Name extends keyof Readers ? ReturnType<Readers[Name]> : Unwritten[Name];
  } {
    this.check(label, written, more);
    const options: Record<string, unknown> = { ...this.unwritten };
    for (const name of Object.keys(written as object)) {
      const read = this.known.get(name);
      const value = (written as Record<string, unknown>)[name];
      if (read !== undefined && value !== undefined) options[name] = read(prefix + name, value);
    }
    return options as unknown as ReturnType<this['read']>;
  }

  /**
   * Refuses what is no object of options, an option by an unknown name, and options that a getter or a prototype adds: a copy
   * would lose them, and a polluted `Object.prototype` would give all callers the same owner.
   * @throws LockConfigError
   */
  check(label: string, written: unknown, more: MoreNames = []): void {
    if (!isObject(written) || Array.isArray(written)) {
      const example = Object.hasOwn(EXAMPLES, label) ? `: write ${label}${EXAMPLES[label]}` : '';
      throw new LockConfigError(`${label} takes an object of options; this is ${show(written)}${example}.`);
    }
    if (!isPlain(written)) this.refuseInherited(label, written, more);
    // Reflect.ownKeys would take three times as long.
    for (const name of Object.getOwnPropertyNames(written)) {
      if (more !== 'any' && !this.isKnown(name, more)) throw this.unknown(label, name, more);
      const property = Object.getOwnPropertyDescriptor(written, name)!;
      if (property.get !== undefined || property.set !== undefined) throw hidden(label, written, name, 'a getter');
      if (property.enumerable !== true) throw hidden(label, written, name, 'not enumerable');
    }
    const [symbol] = Object.getOwnPropertySymbols(written);
    if (symbol !== undefined && more !== 'any') throw this.unknown(label, symbol.toString(), more);
  }

  private isKnown(name: string, more: MoreNames): boolean {
    return this.known.has(name) || (more !== 'any' && more.includes(name));
  }

  /** A promise, a Map, a Set or a Date has no options at all. The getters of a class look like options, and are none. */
  private refuseInherited(label: string, written: object, more: MoreNames): void {
    if (types.isPromise(written)) throw new LockConfigError(`${label} is a promise of options: await it first.`);
    if (types.isMap(written) || types.isSet(written) || types.isDate(written))
      throw new LockConfigError(`${label} takes a plain object of options; this is ${describe(written)}.`);
    for (let from = prototypeOf(written); from !== null; from = prototypeOf(from)) {
      const isOfClass = prototypeOf(from) !== null;
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
        const looksLikeOption = this.isKnown(name, more) || (isOfClass && !isFunction(value));
        if (looksLikeOption && !Object.hasOwn(written, name)) throw hidden(label, written, name, 'inherited');
      }
    }
  }

  private unknown(label: string, name: string, more: readonly string[]): LockConfigError {
    const place = this.elsewhere?.(name);
    if (place !== undefined) return new LockConfigError(label + place);
    const names = [...this.names, ...more];
    const meant = suggestion(name, names);
    const example = meant === 'match' ? ` Write list${EXAMPLES['list']}, in which * stands for any text.` : '';
    const hint = meant === undefined ? `the options are ${names.join(', ')}` : `did you mean '${meant}'?${example}`;
    return new LockConfigError(`${label} has no option ${quote(name)}: ${hint}`);
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

const hidden = (label: string, written: object, name: string, how: string): LockConfigError =>
  new LockConfigError(
    `${label}: ${oneLine(name)} is ${how} in ${describe(written)}, but an option must be an own, enumerable property: ` +
      `write { ${oneLine(name)}: … } with its value.`,
  );

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;

/** Whether an object inherits nothing but what every object does. Callers read own properties only. */
function isPlain(written: object): boolean {
  const prototype = prototypeOf(written);
  // Something has polluted `Object.prototype` if it has enumerable properties.
  return prototype === null || (prototype === Object.prototype && Object.keys(prototype).length === 0);
}

/** The names here, and the names that other lock libraries use. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  key: ['name', 'keys'],
  expire: ['ttl', 'lease', 'leaseTime', 'lockAtMostFor', 'duration'],
  renewedLease: ['lockWatchdogTimeout'],
  waitTimeout: ['timeout', 'waitTime', 'wait'],
  holdAtLeast: ['lockAtLeastFor'],
  kind: ['type', 'lockType', 'mode'],
  permits: ['concurrency', 'maxConcurrent'],
  instance: ['name', 'connection'],
  connection: ['url', 'redis'],
  keyPrefix: ['prefix'],
  db: ['database'],
  username: ['user'],
  password: ['pass'],
  match: ['prefix', 'keyPrefix', 'pattern'],
};

/** The option of a list that was probably meant. */
export function suggestion(unknown: string, known: readonly string[]): string | undefined {
  const translated = known.find((name) => Object.hasOwn(ELSEWHERE, name) && ELSEWHERE[name]!.includes(unknown));
  if (translated !== undefined) return translated;
  // A longer text is near no option.
  const text = unknown.slice(0, 100).toLowerCase();
  const near = known
    .map((name) => ({ name, distance: editDistance(text, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  const most = Math.max(2, Math.floor(text.length / 3));
  return near !== undefined && near.distance <= most && near.distance < near.name.length ? near.name : undefined;
}

/** The Levenshtein distance, computed row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

const show = (written: unknown): string => {
  if (typeof written === 'string' && written !== '') return quote(written);
  return typeof written === 'number' || typeof written === 'boolean' ? String(written) : describe(written);
};
