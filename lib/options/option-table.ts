import {
  asWritten,
  readBy,
  readCondition,
  readHoldIds,
  readInstanceName,
  readLossListener,
  readMatch,
  readOnContended,
  readOnLost,
  readOnUnavailable,
  readOwner,
  readPattern,
  readPermits,
  readRelease,
  readReplicas,
  readSignal,
  readKind,
  readWholeDuration,
} from './lock-option-readers.js';
import { readExpire, readFlag, readLease, readListener, readTimes, readWaitTimeout } from './option-readers.js';

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
 * for `tryAcquire`) and `run` of the service; the calls of a `lock` object and of a `semaphore`; `adopt`; the methods that make these
 * objects; an `election`; the methods of a latch; `list` and `forceRelease` of the service.
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

/** Turns what was written into what is used, or throws a LockConfigError that begins with the label. */
export type OptionReader = (label: string, written: unknown) => unknown;

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

/** The options of one place, in the order of the table. */
interface Place {
  readonly readers: Map<string, OptionReader>;
  readonly names: string[];
  /** All options, left out. */
  readonly nothing: Record<string, unknown>;
}

const PLACES = new Map<OptionPlace, Place>();
for (const [name, places] of Object.entries(OPTIONS)) {
  for (const [place, read] of Object.entries(places) as Array<[OptionPlace, OptionReader]>) {
    const options = PLACES.get(place) ?? { readers: new Map<string, OptionReader>(), names: [], nothing: {} };
    options.readers.set(name, read);
    options.names.push(name);
    options.nothing[name] = undefined;
    PLACES.set(place, options);
  }
}

/** The names of the options that a place takes. */
export const optionNames = (place: OptionPlace): readonly string[] => PLACES.get(place)!.names;

/**
 * Reads the options that were written in a place, which have passed `refuseUnknownOptions`. Other names are skipped.
 * @param prefix stands before the name of an option in messages, such as `defaults.`
 * @param unwritten what applies if an option was left out
 * @throws LockConfigError for the first option that cannot be used
 */
export function readOptions<Place extends OptionPlace, Unwritten extends object = object>(
  place: Place,
  written: object,
  prefix = '',
  unwritten?: Unwritten,
): ReadOptions<Place> & Unwritten {
  const { readers, nothing } = PLACES.get(place)!;
  // Names all of them: an option that was left out must not be found in a polluted Object.prototype.
  const options: Record<string, unknown> = { ...nothing, ...unwritten };
  for (const name of Object.keys(written)) {
    const read = readers.get(name);
    const value = (written as Record<string, unknown>)[name];
    if (read !== undefined && value !== undefined) options[name] = read(prefix + name, value);
  }
  return options as ReadOptions<Place> & Unwritten;
}
