import type { RunOptions } from '../locks/acquire-options.js';
import { isLockKeyError, LockConfigError, LockKeyError } from '../errors/index.js';
import { assertKey, compileKeyTemplate, type RequestScope, type TemplateSite } from '../keys/index.js';
import {
  readChoice,
  readDuration,
  readExpire,
  readTimes,
  readWaitTimeout,
  refuseUnknownOptions,
} from '../locks/option-readers.js';
import { DEFAULT_INSTANCE } from '../redis-lock.tokens.js';
import type { OnContended } from '../locks/acquire-options.js';
import type { LockMethodOptions } from './lock-method.options.js';

/** The method that is to be locked. */
export interface LockSite extends TemplateSite {
  /** Of which decorator, for messages. */
  readonly decorator: '@DistributedLock' | '@UseLock';
}

/** One call of a locked method. */
export interface LockedCall {
  /** The instance; a handler behind the interceptor does not know it. */
  readonly self?: unknown;
  /** What functions among the options are called with. */
  readonly args: readonly unknown[];
  /** What `#params`, `#body` and the others are read from. */
  readonly request?: RequestScope;
}

/** A lock as it was declared on a method: checked, its template compiled. All of it happens when the class is defined. */
export interface LockDeclaration {
  /** For messages: `@DistributedLock on StockService.reserve`. */
  readonly site: string;
  readonly connection: string;
  readonly onContended: OnContended | undefined;
  readonly options: Pick<RunOptions, 'expire' | 'maxRenewTimes' | 'waitTimeout' | 'holdAtLeast' | 'onLost'>;
  /** @throws LockKeyError when the arguments make no key; whatever a key function throws on purpose */
  keyOf(call: LockedCall): string;
  /** Whether this call is to be locked; what the function throws goes to the caller. */
  applies(call: LockedCall): boolean;
}

const LOCK_OPTIONS = [
  'key',
  'expire',
  'maxRenewTimes',
  'waitTimeout',
  'holdAtLeast',
  'onContended',
  'onLost',
  'condition',
  'connection',
] satisfies Array<keyof LockMethodOptions>;

/**
 * @param moreOptions names of options that the decorator reads itself
 * @throws LockConfigError for an option, LockKeyError for a template that cannot be used: the application does not start
 */
export function declareLock(
  site: LockSite,
  written: LockMethodOptions,
  moreOptions: readonly string[] = [],
): LockDeclaration {
  const label = `${site.decorator} on ${site.className}.${site.methodName}`;
  refuseUnknownOptions(label, written, [...LOCK_OPTIONS, ...moreOptions]);
  const { onContended, onLost, condition, connection = DEFAULT_INSTANCE } = written;
  if (onContended !== undefined) readChoice(`${label}: onContended`, onContended, ['throw', 'skip']);
  if (onLost !== undefined) readChoice(`${label}: onLost`, onLost, ['throw', 'ignore']);
  if (condition !== undefined && typeof condition !== 'function') {
    throw new LockConfigError(`${label}: condition must be a function of the arguments that returns true to lock.`);
  }
  if (typeof connection !== 'string' || connection === '') {
    throw new LockConfigError(`${label}: connection must be the name of a RedisLockModule, such as 'jobs'.`);
  }
  return {
    site: label,
    connection,
    onContended,
    options: { ...readTimings(label, written), ...(onLost === undefined ? {} : { onLost }) },
    keyOf: compileKey(label, site, written.key),
    applies: (call) => condition === undefined || decide(label, condition.apply(call.self, [...call.args])),
  };
}

function readTimings(label: string, written: LockMethodOptions): LockDeclaration['options'] {
  const timings: LockDeclaration['options'] = {};
  const { expire, maxRenewTimes, waitTimeout, holdAtLeast } = written;
  if (expire !== undefined) timings.expire = readExpire(`${label}: expire`, expire);
  if (maxRenewTimes !== undefined) timings.maxRenewTimes = readTimes(`${label}: maxRenewTimes`, maxRenewTimes);
  if (waitTimeout !== undefined) timings.waitTimeout = readWaitTimeout(`${label}: waitTimeout`, waitTimeout);
  if (holdAtLeast !== undefined) timings.holdAtLeast = readDuration(`${label}: holdAtLeast`, holdAtLeast);
  if (timings.expire && Number(timings.holdAtLeast) > Number(timings.expire)) {
    throw new LockConfigError(
      `${label}: holdAtLeast is longer than expire: make expire at least as long, or leave it out.`,
    );
  }
  return timings;
}

function compileKey(label: string, site: LockSite, key: LockMethodOptions['key']): LockDeclaration['keyOf'] {
  if (typeof key === 'function') {
    return (call) => {
      try {
        return assertKey(key.apply(call.self, [...call.args]));
      } catch (error) {
        throw keyFunctionFault(label, error);
      }
    };
  }
  if (typeof key !== 'string') {
    const fault = Array.isArray(key) ? 'several keys are not supported yet' : 'there is no key';
    throw new LockConfigError(
      `${label}: ${fault}; write a template such as key: 'stock:#{#order.sku}', or a function.`,
    );
  }
  const template = compileKeyTemplate(key, site);
  return ({ self, args, request }) => template.resolve({ self, args, request });
}

/** What a key function threw on purpose goes to the caller as it is; what is wrong with it, or its key, names the method. */
function keyFunctionFault(label: string, error: unknown): unknown {
  const wrong = isLockKeyError(error) || MISTAKES.some((type) => error instanceof type);
  if (!wrong) return error;
  return new LockKeyError(`${label}: the key function failed: ${(error as Error).message}`, { cause: error });
}

/** What the language throws at code that is wrong. */
const MISTAKES = [TypeError, ReferenceError, RangeError];

function decide(label: string, answer: unknown): boolean {
  // A promise is true whatever it becomes, so the method would always be locked.
  if (typeof answer === 'boolean') return answer;
  throw new LockConfigError(`${label}: condition must return true or false at once, not ${typeof answer}.`);
}
