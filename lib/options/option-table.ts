import { withoutSecret } from '../common/credentials.js';
import { durationIn, type Duration } from '../common/duration.js';
import { isObject } from '../common/type-guards.js';
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
import { hints, Options, or, read, related, required, type OptionReader } from './option-readers.js';

const HOLD_ID = 'the id of a hold: hold: holder.id, with a holder of inspect(key) or list()';
const readWho = read.text(/\S/, "who releases the lock, such as by: 'ann@bastion'");
const REPLICAS = new Options({ min: required(read.amount), timeout: or(read.wholeDuration, 1_000) });

/** The options of `acquire` and `tryAcquire`. */
const ACQUIRE = {
  expire: read.expire,
  renewedLease: related(
    read.lease,
    (_, { expire }) =>
      Number(durationIn(expire)) > 0 &&
      'and expire above 0 exclude each other: expire is a fixed lease, which ends even if the holder still works; renewedLease is ' +
        'a lease that is renewed until the lock is released. Leave one of them out',
  ),
  maxRenewTimes: read.checked<number>((n) => Number.isInteger(n) && n >= 0, 'a whole number, or 0 for no limit'),
  waitTimeout: read.wait,
  signal: read.checked<AbortSignal>(
    (written) => written instanceof AbortSignal,
    'an AbortSignal, such as controller.signal or AbortSignal.timeout(5000)',
  ),
  owner: read.text(/^[^\s\p{Cc}\p{Cs}]{1,128}$/u, 'a text of 1 to 128 characters without spaces or control characters'),
  reentrant: read.flag,
  holdAtLeast: related(read.wholeDuration, (ms, { expire }) => {
    const lease = durationIn(expire) || Infinity;
    return (
      ms > lease && `(${ms} ms) is longer than expire (${lease} ms): make expire at least as long, or leave it out`
    );
  }),
  kind: related(
    read.checked<LockKind>(
      (kind: string) => ['exclusive', 'read', 'write'].includes(kind),
      "'exclusive', 'read' or 'write'; for other kinds of locks write fair: true or permits: 3",
    ),
    (_, { permits }) => permits !== undefined && 'and permits do not go together: leave one of them out',
  ),
  permits: read.amount,
  units: related(read.amount, (units, { permits }) =>
    permits === undefined
      ? `(${units}) needs the total number of permits: write { permits: 5, units: ${units} }`
      : units > Number(permits) &&
        `(${units}) can never be granted of ${Number(permits)} permits: request at most ${Number(permits)}`,
  ),
  fair: read.flag,
  replicas: REPLICAS.nested as OptionReader<ReplicaTerms>,
  // Such a call does not run the work itself, and so has no result to replace.
  onLost: read.func<LockLostListener>("a function: 'throw' and 'ignore' are for run and decorated methods"),
  pattern: read.text(/\S/, "a text that stands for all keys of one kind, such as 'stock:*'"),
};

/** What happens to the work and its result: options of calls that run it. */
const RUN = {
  onContended: read.oneOf<OnContended>(['throw', 'skip'], 'a function'),
  onUnavailable: read.oneOf<OnUnavailable>(['throw', 'skip'], 'a function'),
  onLost: read.oneOf<OnLost>(['throw', 'ignore'], 'a function'),
  release: read.oneOf<ReleaseMode>(['awaited', 'background']),
};

const { expire, renewedLease, maxRenewTimes, waitTimeout, signal, owner, reentrant, holdAtLeast } = ACQUIRE;
const { kind, permits, units, fair, replicas, onLost, pattern } = ACQUIRE;
const lease = { expire, renewedLease, maxRenewTimes };
const { onLost: reaction, release } = RUN;

const DECORATOR = {
  key: read.asWritten,
  ...{ ...lease, waitTimeout, holdAtLeast, kind, permits, units, fair, replicas, ...RUN, pattern },
  condition: read.syncFunc<(...args: any[]) => unknown>(
    'a function of the arguments that returns true at once to lock',
  ),
  instance: read.instance,
};
const SEMAPHORE = { ...lease, waitTimeout, signal, holdAtLeast, replicas, onLost };

/**
 * The options of locks, one table for each place that takes some. The list of names in the message about an unknown option, the
 * checks and the types of what was read come from it. What an option means, its unit and its default stand in the doc comment of
 * its interface (`acquire-options.ts` for the options of a call), from which `npm run generate:options` writes docs/options.md.
 */
export const OPTIONS = {
  /** `defaults` of the module. */
  defaults: new Options(
    {
      expire: or(expire, 0),
      maxRenewTimes: or(maxRenewTimes, 0),
      waitTimeout: or(waitTimeout, 10_000),
      holdAtLeast: or(holdAtLeast, 0),
      replicas,
      onContended: or(RUN.onContended, 'throw'),
      onUnavailable: or(RUN.onUnavailable, 'throw'),
      onLost: or(reaction, 'throw'),
      release: or(release, 'awaited'),
    },
    { renewedLease: 'write it beside defaults: { renewedLease, defaults }' },
  ),
  decorator: new Options(DECORATOR),
  distributedLock: new Options({
    ...DECORATOR,
    returns: read.oneOf<'promise' | 'observable'>(['promise', 'observable']),
  }),
  acquire: new Options(ACQUIRE),
  run: new Options({ ...ACQUIRE, onLost: reaction, release }),
  /** The calls of a lock object. */
  lock: new Options({ ...lease, waitTimeout, signal, reentrant, holdAtLeast, replicas, onLost }),
  /** The calls of a semaphore. `runSemaphore` passes its options on to `run`, which reads them. */
  semaphore: new Options(SEMAPHORE),
  runSemaphore: new Options({ ...SEMAPHORE, units }),
  drain: new Options({ ...lease, holdAtLeast, replicas, onLost }),
  adopt: new Options({ ...lease, onLost, pattern }),
  getLock: new Options({ owner, pattern }),
  getSemaphore: new Options({ permits: required(permits), pattern }),
  election: new Options({
    ...{ renewedLease, replicas, pattern, onElected: read.listener, onDeposed: read.listener },
    finishTimeout: or(waitTimeout, 30_000),
  }),
  /** The methods of a latch. */
  trySetCount: new Options({ expire: read.lease, replicas }),
  countDown: new Options({ replicas }),
  await: new Options({ waitTimeout: or(waitTimeout, Infinity), signal }),
  list: new Options(
    { match: read.text(/[^]/, "a key, in which * stands for any text, such as 'stock:*'") },
    hints(['prefix', 'keyPrefix', 'pattern'], () => "write { match: 'stock:*' }, in which * stands for any text"),
  ),
  forceRelease: new Options({
    hold: read.oneOrMore(read.text(/\S/, HOLD_ID), HOLD_ID),
    by: (label: string, written: unknown) => withoutSecret(readWho(label, written)),
  }),
};

/** The options of a place as they were read. */
export type OptionsOf<Place extends keyof typeof OPTIONS> = (typeof OPTIONS)[Place]['defaults'];

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
  OPTIONS[place].check(label, wait);
  if (expire === undefined) return wait;
  throw new LockConfigError(
    `${label} takes the lease either after the wait or in its options: write { waitTimeout: '3s', expire: '10s' }.`,
  );
}
