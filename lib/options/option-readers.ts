import { types } from 'node:util';
import { alternatives, describe, oneLine, quote } from '../common/describe.js';
import { durationIn } from '../common/duration.js';
import { refuseUrls } from '../common/refuse-urls.js';
import { isFunction, isObject, isSyncFunction } from '../common/type-guards.js';
import { LockConfigError } from '../errors/index.js';

/**
 * Turns an option as it was written into the value that is used, a duration into milliseconds. Throws a LockConfigError
 * that begins with the label, such as `defaults.expire`, and says what to write instead.
 */
export type OptionReader<Read = any> = (label: string, written: unknown, others?: Others) => Read;

/** What was written beside an option. Its values may not have been read yet. */
type Others = Readonly<Record<string, unknown>>;

const show = (written: unknown): string => {
  if (typeof written === 'string' && written !== '') return quote(written);
  return typeof written === 'number' || typeof written === 'boolean' ? String(written) : describe(written);
};

/**
 * The error about a value that cannot be used.
 * @param rest what is wrong with the value, and what to write instead
 * @param shown how the message shows the value: `describe`, if it may contain a password
 */
export const fault = (label: string, written: unknown, rest: string, shown = show): LockConfigError =>
  new LockConfigError(`${label} is ${shown(written)}${rest}.`);

/** Refuses a value, and says what to write instead. */
export function refuse(label: string, written: unknown, instead: string, shown = show): never {
  throw fault(label, written, `; write ${instead}`, shown);
}

/** The reader of values that are used as they are written. */
const checked =
  <Read>(accepts: (written: any) => boolean, instead: string, shown = show): OptionReader<Read> =>
  (label, written) =>
    accepts(written) ? (written as Read) : refuse(label, written, instead, shown);

/** One of a few words, or a function if its description is given. */
const oneOf = <Read>(words: readonly unknown[], described?: string): OptionReader<Read> =>
  checked(
    (written) => words.includes(written) || (described !== undefined && isFunction(written)),
    alternatives([...words.map((word) => `'${String(word)}'`), ...(described === undefined ? [] : [described])]),
  );

/** A text that matches a pattern. */
const text = (pattern: RegExp, instead: string): OptionReader<string> =>
  checked((written: unknown) => typeof written === 'string' && pattern.test(written), instead);

/** A text that is printed, so it must not be a URL, which may contain a password. */
const name = (pattern: RegExp, instead: string): OptionReader<string> => {
  const plain = text(pattern, instead);
  return (label, written) => {
    refuseUrls(label, written);
    return plain(label, written);
  };
};

/** A function. */
const func = <Func>(instead: string): OptionReader<Func> => checked(isFunction, instead);

/** A function whose result is used at once: neither async nor a class. */
const syncFunc = <Func>(instead: string): OptionReader<Func> => checked(isSyncFunction, instead);

/** The largest number that is counted with. In replies of Redis, ioredis rounds numbers close to 2^53. */
export const LARGEST_COUNT = 1e15;

/** A whole number. */
const count = (least = 1, most = LARGEST_COUNT): OptionReader<number> =>
  checked(
    (n: number) => Number.isSafeInteger(n) && n >= least && n <= most,
    `a whole number from ${least} to ${most === LARGEST_COUNT ? '10^15' : most}`,
  );

/** A list, whose elements the messages name by their position. A hole counts as `undefined`, which no `each` may accept. */
const listOf =
  <Read>(each: OptionReader<Read>, instead: string, shown = show): OptionReader<Read[]> =>
  (label, written) => {
    if (!Array.isArray(written) || written.length === 0) return refuse(label, written, instead, shown);
    // `map` would skip holes.
    return Array.from(written, (element, i) => each(`${label}[${i}]`, element));
  };

/** One value, or a list of some. */
const oneOrMore = <Read>(each: OptionReader<Read>, instead: string): OptionReader<readonly Read[]> => {
  const several = listOf(each, instead);
  return (label, written) => (Array.isArray(written) ? several(label, written) : [each(label, written)]);
};

/** An object, such as a logger, that has the methods that the library calls. */
const withMethods = <Read>(methods: readonly string[], example: string): OptionReader<Read> =>
  checked(
    (written: Record<string, unknown>) =>
      (isObject(written) || isFunction(written)) && methods.every((name) => isFunction(written[name])),
    `${example}, or an object with ${methods.join(', ')}`,
  );

/** A length of time of at least so many ms. A longer one than `most` counts as `most`. */
const atLeast =
  (least: number, most = Infinity): OptionReader<number> =>
  (label, written) => {
    const ms = read.duration(label, written);
    if (ms >= least) return Math.min(Math.ceil(ms), most);
    const isInSeconds = typeof written === 'number' && ms > 0 && ms < 60;
    const why = isInSeconds ? `is in milliseconds: write '${written}s'` : 'is too short';
    throw new LockConfigError(`${label} ${why}. It must be at least ${least} ms.`);
  };

/** In days: longer than any job waits for its next run. */
const LONGEST_DURATION = 366;

/** The readers of options, and the functions that make readers. */
export const read = {
  ...{ checked, oneOf, text, name, func, syncFunc, count, listOf, oneOrMore, withMethods, atLeast },

  asWritten: (_label: string, written: unknown): unknown => written,

  /** Any length of time of up to 366 days. */
  duration: (label: string, written: unknown): number => {
    const ms = durationIn(written) ?? Infinity;
    if (ms <= LONGEST_DURATION * 86_400_000) return ms;
    const texts = `such as '500ms', '30s', '5m', up to '${LONGEST_DURATION}d'`;
    return refuse(label, written, `a number of milliseconds, or a text with a unit, ${texts}`);
  },

  /** Redis counts whole milliseconds. */
  wholeDuration: atLeast(0),

  /** A wait: 0 for one try, `Infinity` for no limit. */
  wait: (label: string, written: unknown): number => (written === Infinity ? Infinity : read.duration(label, written)),

  /** A lease must outlast a few round trips. A shorter one is usually a mistake for seconds. */
  lease: atLeast(50),

  /** A lease, or 0 for a lease that is renewed. */
  expire: (label: string, written: unknown): number => {
    if (durationIn(written) === 0) return 0;
    if (written !== Infinity) return read.lease(label, written);
    const renewed = 'a lease that is renewed for as long as the lock is held';
    throw new LockConfigError(`${label} is endless: write 0 for ${renewed}.`);
  },

  /** What Nest gets in the metadata of a module. */
  list: checked<any[]>(Array.isArray, 'an array'),
  amount: count(),
  flag: checked<boolean>((written) => typeof written === 'boolean', 'true or false'),
  listener: func<(...args: any[]) => unknown>('a function'),

  /** The name of a module instance. */
  instance: name(/\S/, "the name of a RedisLockModule, such as 'jobs'"),
};

/**
 * Reads a duration from a text that is only known at run time, such as an environment variable, and returns milliseconds:
 * `renewedLease: parseDuration(config.getOrThrow('LOCK_LEASE'))`. The text must have a unit: `'500ms'`, `'30s'`, `'5m'`,
 * `'1h'`, `'1d'`.
 * @throws LockConfigError for any other text, and for more than 366 days
 */
export const parseDuration = (text: string): number => read.duration('parseDuration(text)', text);

/**
 * The reader of an option that does not go with every value of others.
 * @param wrong says why, as the rest of a sentence that begins with the option
 */
export const related =
  <Read>(reader: OptionReader<Read>, wrong: (read: Read, others: Others) => string | false): OptionReader<Read> =>
  (label, written, others) => {
    const value = reader(label, written);
    const why = wrong(value, { __proto__: null, ...others });
    if (why === false) return value;
    throw new LockConfigError(`${label} ${why}.`);
  };

/** The reader of an option with the value that applies if it is left out. */
export const or = <Read, const Default>(
  reader: OptionReader<Read>,
  byDefault: Default,
): OptionReader<Read> & { readonly byDefault: Default } =>
  Object.assign((...option: Parameters<OptionReader>): Read => reader(...option), { byDefault });

/** The reader of an option that must be written: it gets `undefined` if the option is left out. */
export const required = <Read>(reader: OptionReader<Read>): OptionReader<Read> & { readonly byDefault: never } =>
  Object.assign(or(reader, undefined as never), { isRequired: true });

/** The rows of options that another place checks. */
export const asWritten = <const Name extends string>(
  ...names: ReadonlyArray<readonly Name[]>
): Readonly<Record<Name, OptionReader>> =>
  Object.fromEntries(names.flat().map((name) => [name, read.asWritten])) as Readonly<Record<Name, OptionReader>>;

/** For names that belong elsewhere: what to write in their place. */
export const hints = (names: readonly string[], hint: (name: string) => string): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, hint(name)]));

type Row = OptionReader & { readonly byDefault?: unknown; readonly isRequired?: boolean };

/** Options as they were read. An option that was left out is `undefined`, unless it has a default. */
export type ReadOptions<Readers> = {
  readonly [Name in keyof Readers]: Readers[Name] extends OptionReader<infer Read>
    ? Read | (Readers[Name] extends { readonly byDefault: infer Default } ? Default : undefined)
    : never;
};

/** The table of the options that are written in one object: how each is read, and what applies if it is left out. */
export class Options<Readers extends Readonly<Record<string, OptionReader>>> {
  readonly names: readonly string[];
  /** Has all names: an option that was left out must not be found in a polluted Object.prototype. */
  readonly defaults: ReadOptions<Readers>;
  private readonly known: ReadonlyMap<string, Row>;
  private readonly required: ReadonlyArray<[name: string, row: Row]>;

  /**
   * @param elsewhere names that are no options here, with what to write in their place
   * @param foreign for objects of other packages, which may have more than the table, and keep it. Only probable typing errors
   *   are refused. Messages do not show such an object, because it may contain a password.
   */
  constructor(
    readonly readers: Readers,
    readonly elsewhere: Readonly<Record<string, string>> = {},
    private readonly foreign = false,
  ) {
    const rows = Object.entries<Row>(readers);
    this.known = new Map(rows);
    this.required = rows.filter(([, row]) => row.isRequired);
    this.names = Object.keys(readers);
    const defaults = foreign ? [] : rows.map(([name, { byDefault }]) => [name, byDefault] as const);
    this.defaults = Object.freeze(Object.fromEntries(defaults)) as ReadOptions<Readers>;
  }

  /**
   * A table for another place: without the options that have a hint, and with `more`.
   * @param hints what to write in place of an option, as in `elsewhere`
   */
  without<Name extends string, More extends Readonly<Record<string, OptionReader>>>(
    hints: Readonly<Record<Name, string>>,
    more: More,
  ): Options<Omit<Readers, Name> & More> {
    const kept = Object.entries({ ...this.readers, ...more }).filter(([name]) => !Object.hasOwn(hints, name));
    const readers = Object.fromEntries(kept) as unknown as Omit<Readers, Name> & More;
    return new Options(readers, { ...this.elsewhere, ...hints });
  }

  /** The reader of an object of these options within another one. */
  readonly nested: OptionReader<ReadOptions<Readers>> = (label, written) => this.read(label, written, `${label}.`);

  /**
   * Reads an object of these options. `undefined` counts as left out, `null` does not.
   * @param prefix stands before the name of an option in messages, such as `defaults.`
   * @throws LockConfigError for the first option that cannot be used
   */
  read(label: string, written: unknown, prefix = ''): ReadOptions<Readers> {
    this.check(label, written);
    const values = written as Others;
    const options: Record<string, unknown> = { ...this.defaults };
    for (const name of Object.keys(values)) {
      const reader = this.known.get(name) ?? read.asWritten;
      if (values[name] !== undefined) options[name] = reader(prefix + name, values[name], values);
    }
    for (const [name, reader] of this.required)
      if (options[name] === undefined) reader(prefix + name, undefined, options);
    return options as ReadOptions<Readers>;
  }

  /**
   * Refuses what is no object of options, an option by an unknown name, and options that a getter or a prototype adds: a copy
   * would lose them, and a polluted `Object.prototype` would give all callers the same owner.
   * @throws LockConfigError
   */
  check(label: string, written: unknown): void {
    if (!isObject(written) || Array.isArray(written) || types.isDate(written)) {
      const given = this.foreign ? describe(written) : `${show(written)}: ${this.list}`;
      throw new LockConfigError(`${label} takes an object of options; this is ${given}.`);
    }
    if (!isPlain(written)) this.refuseInherited(label, written);
    // Reflect.ownKeys would take three times as long.
    for (const name of Object.getOwnPropertyNames(written)) {
      if (!this.known.has(name)) this.refuseUnknown(label, name);
      const property = Object.getOwnPropertyDescriptor(written, name)!;
      if (property.get !== undefined) throw hidden(label, written, name, 'a getter');
      if (property.enumerable !== true) throw hidden(label, written, name, 'not enumerable');
    }
    for (const symbol of Object.getOwnPropertySymbols(written)) this.refuseUnknown(label, symbol.toString());
  }

  /** A promise has no options at all. The getters of a class look like options, and are none. */
  private refuseInherited(label: string, written: object): void {
    if (types.isPromise(written)) throw new LockConfigError(`${label} is a promise of options: await it first.`);
    for (let from = prototypeOf(written); from !== null; from = prototypeOf(from)) {
      const isOfClass = prototypeOf(from) !== null;
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
        const looksLikeOption = this.known.has(name) || (isOfClass && !isFunction(value));
        if (looksLikeOption && !Object.hasOwn(written, name)) throw hidden(label, written, name, 'inherited');
      }
    }
  }

  private get list(): string {
    return `the options are ${this.names.join(', ')}`;
  }

  private refuseUnknown(label: string, name: string): void {
    const names = [...this.names, ...Object.keys(this.elsewhere)];
    const meant = names.includes(name) ? name : suggestion(name, names, this.foreign ? TYPING_ERROR : undefined);
    if (this.foreign && meant === undefined) return;
    const guess = meant === undefined ? this.list : meant === name ? [] : `did you mean '${meant}'?`;
    const instead = meant === undefined || this.known.has(meant) ? [] : `${this.elsewhere[meant]!}.`;
    throw new LockConfigError(`${label} has no option ${quote(name)}: ${[guess, instead].flat().join(' If so, ')}`);
  }
}

const hidden = (label: string, written: object, name: string, how: string): LockConfigError =>
  new LockConfigError(
    `${label}: ${oneLine(name)} is ${how} in ${describe(written)}: write { ${oneLine(name)}: … } with its value, as an own property.`,
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
  key: ['name', 'keys', 'resource'],
  expire: ['ttl', 'lease', 'leaseTime', 'lockAtMostFor', 'duration'],
  renewedLease: ['lockWatchdogTimeout', 'lockTimeout'],
  waitTimeout: ['timeout', 'waitTime', 'wait', 'acquireTimeout', 'retryCount', 'retryDelay'],
  holdAtLeast: ['lockAtLeastFor'],
  kind: ['type', 'lockType', 'mode'],
  permits: ['concurrency', 'maxConcurrent'],
  instance: ['name', 'connection'],
  connection: ['url', 'redis', 'client'],
  guards: ['auth', 'guard'],
  keyPrefix: ['prefix'],
  db: ['database'],
  username: ['user'],
  password: ['pass'],
};

/** How many letters of a typing error differ, if the name may also be right. */
const TYPING_ERROR = 2;

/**
 * The option of a list that was probably meant.
 * @param edits how many letters may differ; by default, each third one
 */
export function suggestion(
  unknown: string,
  known: readonly string[],
  edits = Math.max(2, Math.floor(unknown.length / 3)),
): string | undefined {
  const translated = known.find((name) => Object.hasOwn(ELSEWHERE, name) && ELSEWHERE[name]!.includes(unknown));
  if (translated !== undefined) return translated;
  // A longer text is near no option.
  const text = unknown.slice(0, 100).toLowerCase();
  const near = known
    .map((name) => ({ name, distance: editDistance(text, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near !== undefined && near.distance <= edits && near.distance < near.name.length ? near.name : undefined;
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
