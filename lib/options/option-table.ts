import type { Duration } from '../common/duration.js';
import { withoutSecret } from '../common/credentials.js';
import type { ReplicaTerms } from '../engine/hold.js';
import { LockConfigError } from '../errors/index.js';
import type {
  AcquireOptions,
  LockKind,
  LockLostListener,
  OnContended,
  OnLost,
  OnUnavailable,
  ReleaseMode,
} from './acquire-options.js';
import {
  checked,
  func,
  isFunction,
  isObject,
  isText,
  oneOf,
  Options,
  read,
  refuse,
  text,
  type OptionReader,
} from './option-readers.js';

const readKind: OptionReader<LockKind> = (label, written) => {
  const hint = written === 'fair' ? ': write fair: true' : written === 'semaphore' ? ': write permits: 3' : '';
  return oneOf<LockKind>(['exclusive', 'read', 'write'], `'exclusive', 'read' or 'write'${hint}`)(label, written);
};
const readHoldIds: OptionReader<readonly string[]> = (label, written) => {
  const ids = [written].flat();
  if (ids.length > 0 && ids.every(isText)) return ids;
  return refuse(label, written, 'the id of a hold: hold: holder.id, with a holder of inspect(key) or list()');
};
const readBy: OptionReader<string> = (label, written) =>
  isText(written) ? withoutSecret(written) : refuse(label, written, "who releases the lock, such as by: 'ann@bastion'");
const REPLICAS = new Options({ min: read.count, timeout: read.wholeDuration }, { timeout: 1_000 });
const readReplicas: OptionReader<ReplicaTerms> = (label, written) => {
  const { min, timeout } = REPLICAS.read(label, written, `${label}.`);
  return { min: read.count(`${label}.min`, min), timeout };
};
const readTimes = checked<number>((n) => Number.isInteger(n) && n >= 0, 'a whole number, or 0 for no limit');
const readSignal = checked<AbortSignal>(
  (written) => written instanceof AbortSignal,
  'an AbortSignal, such as controller.signal or AbortSignal.timeout(5000)',
);
const readOwner = text(
  /^[^\s\p{Cc}\p{Cs}]{1,128}$/u,
  'a text of 1 to 128 characters without spaces or control characters',
);
const readPattern = text(/\S/, "a text that stands for all keys of one kind, such as 'stock:*'");
const readMatch = text(/[^]/, "a key, in which * stands for any text, such as 'stock:*'");
const readRelease = oneOf<ReleaseMode>(
  ['awaited', 'background'],
  "'awaited' (the call returns once Redis has answered its release) or 'background' (it returns as soon as the work has " +
    'ended)',
);
/** `'throw'`, another word, or a function. */
const reaction = <Reaction>(word: string): OptionReader<Reaction> =>
  checked(
    (written) => isFunction(written) || written === 'throw' || written === word,
    `'throw', '${word}' or a function`,
  );
/** `onLost` of a call that does not run the work itself, and so has no result to replace. */
const readLossListener = func<LockLostListener>("a function: 'throw' and 'ignore' are for run and decorated methods");
const readCondition = func<(...args: any[]) => unknown>('a function of the arguments that returns true to lock');

/** An option that is read in the same way in several places. */
const at = <const Place extends string, Value>(places: readonly Place[], reader: OptionReader<Value>) =>
  Object.fromEntries(places.map((place) => [place, reader])) as Readonly<Record<Place, OptionReader<Value>>>;

/** All places that acquire a lock for one call. */
const CALLS = ['decorator', 'acquire', 'run', 'lock', 'semaphore'] as const;

/**
 * The one table of the options of locks: where each option is allowed, and how it is read there. The list of names in the
 * message about an unknown option, the checks and the public types (`OptionIn`) come from it. What an option means, its unit
 * and its default stand in the doc comment of its interface (`acquire-options.ts` for the options of a call), from which
 * `npm run generate:options` writes docs/options.md.
 *
 * The places: `defaults` of the module; the `decorator`s `@DistributedLock` and `@UseLock`; `acquire` (also for `tryAcquire`)
 * and `run` of the service; the calls of a `lock` object and of a `semaphore`; `adopt`; the methods that make these objects;
 * an `election`; the methods of a latch; `list` and `forceRelease` of the service.
 */
export const OPTIONS = {
  key: at(['decorator'], read.asWritten),
  expire: { ...at(['defaults', ...CALLS, 'adopt'], read.expire), ...at(['trySetCount'], read.lease) },
  renewedLease: at([...CALLS, 'adopt', 'election'], read.lease),
  maxRenewTimes: at(['defaults', ...CALLS, 'adopt'], readTimes),
  waitTimeout: at(['defaults', ...CALLS, 'await'], read.wait),
  signal: at(['acquire', 'run', 'lock', 'semaphore', 'await'], readSignal),
  owner: at(['acquire', 'run', 'getLock'], readOwner),
  reentrant: at(['acquire', 'run', 'lock'], read.flag),
  holdAtLeast: at(['defaults', ...CALLS], read.wholeDuration),
  kind: at(['decorator', 'acquire', 'run'], readKind),
  permits: at(['decorator', 'acquire', 'run', 'getSemaphore'], read.count),
  units: at(['decorator', 'acquire', 'run'], read.count),
  fair: at(['decorator', 'acquire', 'run'], read.flag),
  replicas: at(['defaults', ...CALLS, 'election', 'trySetCount', 'countDown'], readReplicas),
  onContended: at(['defaults', 'decorator'], reaction<OnContended>('skip')),
  onUnavailable: at(['defaults', 'decorator'], reaction<OnUnavailable>('skip')),
  onLost: {
    ...at(['defaults', 'decorator', 'run'], reaction<OnLost>('ignore')),
    ...at(['acquire', 'lock', 'semaphore', 'adopt'], readLossListener),
  },
  release: at(['defaults', 'decorator', 'run'], readRelease),
  pattern: at(['decorator', 'acquire', 'run', 'getLock', 'getSemaphore', 'adopt', 'election'], readPattern),
  condition: at(['decorator'], readCondition),
  instance: at(['decorator'], read.instance),
  match: at(['list'], readMatch),
  hold: at(['forceRelease'], readHoldIds),
  by: at(['forceRelease'], readBy),
  onElected: at(['election'], read.listener),
  onDeposed: at(['election'], read.listener),
  finishTimeout: at(['election'], read.wait),
};

type Table = typeof OPTIONS;
export type OptionPlace = { [Name in keyof Table]: keyof Table[Name] }[keyof Table];

/** The names of the options that a place takes. */
export type OptionIn<Place extends OptionPlace> = {
  [Name in keyof Table]: Place extends keyof Table[Name] ? Name : never;
}[keyof Table];

type ReadersIn<Place extends OptionPlace> = {
  readonly [Name in OptionIn<Place>]: Table[Name] extends { readonly [P in Place]: infer Reader extends OptionReader }
    ? Reader
    : never;
};

/** The options of a place as they were read; an option that was left out is `undefined`. */
export type ReadOptions<Place extends OptionPlace> = {
  readonly [Name in OptionIn<Place>]: ReturnType<ReadersIn<Place>[Name]> | undefined;
};

const IN_PLACES = new Map<string, Options<Record<string, OptionReader>>>();
for (const place of new Set(Object.values(OPTIONS).flatMap((row) => Object.keys(row)))) {
  const rows = Object.entries<Readonly<Record<string, OptionReader>>>(OPTIONS);
  const readers = rows.flatMap(([name, row]) => (Object.hasOwn(row, place) ? [[name, row[place]] as const] : []));
  IN_PLACES.set(place, new Options(Object.fromEntries(readers) as Record<string, OptionReader>));
}

/** The options that a place takes. */
export const optionsOf = <Place extends OptionPlace>(place: Place): Options<ReadersIn<Place>> =>
  IN_PLACES.get(place) as unknown as Options<ReadersIn<Place>>;

/**
 * Reads what `tryLock` and `semaphore.tryAcquire` take: the wait and the lease one after the other, as in Java, or an object
 * of options in their place.
 * @throws LockConfigError
 */
export function tryOptions(
  label: string,
  place: 'lock' | 'semaphore',
  wait: Duration | AcquireOptions,
  expire: Duration | undefined,
): AcquireOptions {
  // `null` is no lease, but stands for a wait that is not configured.
  if (!isObject(wait) || Array.isArray(wait))
    return { waitTimeout: wait as Duration, expire: expire === undefined ? 0 : expire };
  optionsOf(place).check(label, wait);
  if (expire === undefined) return wait;
  throw new LockConfigError(
    `${label} takes the lease either after the wait or in its options: write { waitTimeout: '3s', expire: '10s' }.`,
  );
}
