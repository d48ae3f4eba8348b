import type { ReplicaTerms } from '../engine/hold.js';
import { withoutSecret } from '../common/credentials.js';
import type { LockKind, LockLostListener, OnContended, OnLost, OnUnavailable, ReleaseMode } from './acquire-options.js';
import {
  checked,
  choice,
  isFunction,
  isText,
  Options,
  readCount,
  readExpire,
  readFlag,
  readInstanceName,
  readLease,
  readListener,
  readTimes,
  readWaitTimeout,
  readWholeDuration,
  refuse,
  type OptionReader,
} from './option-readers.js';

const OWNER = /^[^\s\p{Cc}\p{Cs}]{1,128}$/u;
const KINDS = ['exclusive', 'read', 'write'];

/** The value as it was written: another place checks it. */
export const asWritten: OptionReader<unknown> = (_label, written) => written;
export const readPermits: OptionReader<number> = (label, written) => readCount(label, written, 1);
const readSignal = checked<AbortSignal>(
  (written) => written instanceof AbortSignal,
  'an AbortSignal, such as controller.signal or AbortSignal.timeout(5000)',
);
const readOwner = checked<string>(
  (written) => typeof written === 'string' && OWNER.test(written),
  'a text of 1 to 128 characters without spaces or control characters',
);
const readPattern = checked<string>(isText, "a text that stands for all keys of one kind, such as 'stock:*'");
const readMatch = checked<string>(
  (written) => typeof written === 'string' && written !== '',
  "a key, in which * stands for any text, such as 'stock:*'",
);
const readHoldIds: OptionReader<readonly string[]> = (label, written) => {
  const ids = [written].flat();
  if (ids.length > 0 && ids.every(isText)) return ids;
  return refuse(label, written, 'the id of a hold: hold: holder.id, with a holder of inspect(key) or list()');
};
const readBy: OptionReader<string> = (label, written) =>
  isText(written) ? withoutSecret(written) : refuse(label, written, "who releases the lock, such as by: 'ann@bastion'");
const readKind: OptionReader<LockKind> = (label, written) => {
  if (KINDS.includes(written as LockKind)) return written as LockKind;
  const hint = written === 'fair' ? ': write fair: true' : written === 'semaphore' ? ': write permits: 3' : '';
  return refuse(label, written, `'exclusive', 'read' or 'write'${hint}`);
};
const REPLICAS = new Options({ min: readPermits, timeout: readWholeDuration }, { timeout: 1_000 });
const readReplicas: OptionReader<ReplicaTerms> = (label, written) => {
  const { min, timeout } = REPLICAS.read(label, written as object, `${label}.`);
  return { min: readPermits(`${label}.min`, min), timeout };
};
const readOnContended = choice<OnContended>('throw', 'skip');
const readOnUnavailable = choice<OnUnavailable>('throw', 'skip');
const readOnLost = choice<OnLost>('throw', 'ignore');
const readRelease = checked<ReleaseMode>(
  (written) => written === 'awaited' || written === 'background',
  "'awaited' (the call returns once Redis has answered its release) or 'background' (it returns as soon as the work has " +
    'ended)',
);
/** `onLost` of a call that does not run the work itself, and so has no result to replace. */
const readLossListener = checked<LockLostListener>(
  isFunction,
  "a function: 'throw' and 'ignore' are for run and decorated methods",
);
const readCondition = checked<(...args: any[]) => unknown>(
  isFunction,
  'a function of the arguments that returns true to lock',
);

/*
 * The one table of the options of locks: where each option is allowed, and how it is read there. The list of names in the
 * message about an unknown option, the checks and the public types (`OptionIn`) come from it. What an option means, its unit
 * and its default stand in the doc comment of its interface (`acquire-options.ts` for the options of a call), from which
 * `npm run generate:options` writes docs/options.md.
 */

/** Reads an option in every place that acquires a lock for one call. */
const inCalls = <Read>(read: Read) => ({ decorator: read, acquire: read, run: read, lock: read, semaphore: read });

export const OPTIONS = {
  key: { decorator: asWritten },
  expire: { defaults: readExpire, ...inCalls(readExpire), adopt: readExpire, trySetCount: readLease },
  renewedLease: { ...inCalls(readLease), adopt: readLease, election: readLease },
  maxRenewTimes: { defaults: readTimes, ...inCalls(readTimes), adopt: readTimes },
  waitTimeout: { defaults: readWaitTimeout, ...inCalls(readWaitTimeout), await: readWaitTimeout },
  signal: { acquire: readSignal, run: readSignal, lock: readSignal, semaphore: readSignal, await: readSignal },
  owner: { acquire: readOwner, run: readOwner, getLock: readOwner },
  reentrant: { acquire: readFlag, run: readFlag, lock: readFlag },
  holdAtLeast: { defaults: readWholeDuration, ...inCalls(readWholeDuration) },
  kind: { decorator: readKind, acquire: readKind, run: readKind },
  permits: { decorator: readPermits, acquire: readPermits, run: readPermits, getSemaphore: readPermits },
  units: { decorator: readPermits, acquire: readPermits, run: readPermits },
  fair: { decorator: readFlag, acquire: readFlag, run: readFlag },
  replicas: {
    defaults: readReplicas,
    ...inCalls(readReplicas),
    election: readReplicas,
    trySetCount: readReplicas,
    countDown: readReplicas,
  },
  onContended: { defaults: readOnContended, decorator: readOnContended },
  onUnavailable: { defaults: readOnUnavailable, decorator: readOnUnavailable },
  onLost: {
    defaults: readOnLost,
    decorator: readOnLost,
    acquire: readLossListener,
    run: readOnLost,
    lock: readLossListener,
    semaphore: readLossListener,
    adopt: readLossListener,
  },
  release: { defaults: readRelease, decorator: readRelease, run: readRelease },
  pattern: {
    decorator: readPattern,
    acquire: readPattern,
    run: readPattern,
    getLock: readPattern,
    getSemaphore: readPattern,
    adopt: readPattern,
    election: readPattern,
  },
  condition: { decorator: readCondition },
  instance: { decorator: readInstanceName },
  match: { list: readMatch },
  hold: { forceRelease: readHoldIds },
  by: { forceRelease: readBy },
  onElected: { election: readListener },
  onDeposed: { election: readListener },
  finishTimeout: { election: readWaitTimeout },
} as const satisfies Record<string, Partial<Record<OptionPlace, OptionReader>>>;

/**
 * Where options are written: `defaults` of the module; the `decorator`s `@DistributedLock` and `@UseLock`; `acquire` (also
 * for `tryAcquire`) and `run` of the service; the calls of a `lock` object and of a `semaphore`; `adopt`; the methods that
 * make these objects; an `election`; the methods of a latch; `list` and `forceRelease` of the service.
 */
export type OptionPlace =
  | 'defaults'
  | 'decorator'
  | 'acquire'
  | 'run'
  | 'lock'
  | 'semaphore'
  | 'adopt'
  | 'getLock'
  | 'getSemaphore'
  | 'election'
  | 'trySetCount'
  | 'countDown'
  | 'await'
  | 'list'
  | 'forceRelease';

type OptionTable = typeof OPTIONS;

/** The names of the options that a place takes. */
export type OptionIn<Place extends OptionPlace> = {
  [Name in keyof OptionTable]: Place extends keyof OptionTable[Name] ? Name : never;
}[keyof OptionTable];

/** The options of a place as they were read; an option that was left out is `undefined`. */
export type ReadOptions<Place extends OptionPlace> = {
  readonly [Name in OptionIn<Place>]:
    (OptionTable[Name] extends { readonly [P in Place]: (...args: any[]) => infer Value } ? Value : never) | undefined;
};

const PLACES = new Map<OptionPlace, Record<string, OptionReader>>();
for (const [name, places] of Object.entries(OPTIONS)) {
  for (const [place, read] of Object.entries(places) as Array<[OptionPlace, OptionReader]>)
    PLACES.set(place, { ...PLACES.get(place), [name]: read });
}
const OPTIONS_IN = new Map([...PLACES].map(([place, readers]) => [place, new Options(readers)]));

/** The names of the options that a place takes. */
export const optionNames = (place: OptionPlace): readonly string[] => OPTIONS_IN.get(place)!.names;

/** The readers of the options that a place takes. */
export const optionReaders = (place: OptionPlace): Readonly<Record<string, OptionReader>> => PLACES.get(place)!;

/** As `Options.read`, of the options that a place takes. */
export const readOptions = <Place extends OptionPlace>(
  place: Place,
  label: string,
  written: object,
  prefix?: string,
  more?: readonly string[],
): ReadOptions<Place> => OPTIONS_IN.get(place)!.read(label, written, prefix, more) as ReadOptions<Place>;
