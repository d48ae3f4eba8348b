import { refuseHoles } from '../options/own-options.js';
import { refuseUrls } from '../common/refuse-urls.js';
import type { RunOptions } from '../options/acquire-options.js';
import { isLockKeyError, LockConfigError, LockKeyError } from '../errors/index.js';
import { compileKeyTemplate, type RequestScope, type TemplateSite } from '../keys/index.js';
import { readKeys } from '../service/acquirer.js';
import { readPattern, readReplicas, readType } from '../options/resolve-acquire-options.js';
import {
  readChoice,
  readCount,
  readDuration,
  readExpire,
  readFlag,
  readTimes,
  readWaitTimeout,
  refuseUnknownOptions,
} from '../options/option-readers.js';
import { DEFAULT_INSTANCE } from '../module/redis-lock.tokens.js';
import type { OnContended } from '../options/acquire-options.js';
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
  readonly options: RunOptions;
  /** @throws LockKeyError when the arguments make no key; whatever a key function throws on purpose */
  keyOf(call: LockedCall): string | readonly string[];
  /** Whether this call is to be locked; what the function throws goes to the caller. */
  applies(call: LockedCall): boolean;
}

const LOCK_OPTIONS = [
  'key',
  'expire',
  'maxRenewTimes',
  'waitTimeout',
  'holdAtLeast',
  'type',
  'permits',
  'fair',
  'replicas',
  'pattern',
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
  refuseUrls(`${label}: connection`, connection);
  const keyOf = compileKey(label, site, written.key);
  return {
    site: label,
    connection,
    onContended,
    options: Object.freeze({
      __proto__: null,
      ...readTimings(label, written),
      ...readKind(label, written),
      ...readLabel(label, written),
      ...(onLost === undefined ? {} : { onLost }),
    }),
    keyOf: site.decorator === '@UseLock' ? blamingRequests(keyOf) : keyOf,
    applies: (call) => condition === undefined || decide(label, condition.apply(call.self, [...call.args])),
  };
}

function readTimings(label: string, written: LockMethodOptions): LockDeclaration['options'] {
  const timings: LockDeclaration['options'] = {};
  const { expire, maxRenewTimes, waitTimeout, holdAtLeast } = written;
  if (expire !== undefined) timings.expire = readExpire(`${label}: expire`, expire);
  if (maxRenewTimes !== undefined) timings.maxRenewTimes = readTimes(`${label}: maxRenewTimes`, maxRenewTimes);
  if (waitTimeout !== undefined) {
    readWaitTimeout(`${label}: waitTimeout`, waitTimeout);
    // As it was written: a number may be meant otherwise than a text with a unit.
    timings.waitTimeout = waitTimeout;
  }
  if (holdAtLeast !== undefined) timings.holdAtLeast = readDuration(`${label}: holdAtLeast`, holdAtLeast);
  if (timings.expire && Number(timings.holdAtLeast) > Number(timings.expire)) {
    throw new LockConfigError(
      `${label}: holdAtLeast is longer than expire: make expire at least as long, or leave it out.`,
    );
  }
  return timings;
}

/** What stands for the keys in metrics: their templates, unless it is told otherwise. */
function readLabel(label: string, { key, pattern }: LockMethodOptions): LockDeclaration['options'] {
  if (pattern !== undefined) return { pattern: readPattern(`${label}: pattern`, pattern) };
  return typeof key === 'function' ? {} : { pattern: [key].flat().join(', ') };
}

/** In which way the method is locked. */
function readKind(label: string, { type, permits, fair, replicas }: LockMethodOptions): LockDeclaration['options'] {
  const kind: LockDeclaration['options'] = {};
  if (type !== undefined) kind.type = readType(`${label}: type`, type);
  if (permits !== undefined) kind.permits = readCount(`${label}: permits`, permits, 1);
  if (type !== undefined && permits !== undefined) {
    throw new LockConfigError(`${label}: type and permits do not go together: leave one of them out.`);
  }
  if (fair !== undefined) kind.fair = readFlag(`${label}: fair`, fair);
  if (replicas !== undefined) kind.replicas = readReplicas(`${label}: replicas`, replicas);
  return kind;
}

function compileKey(label: string, site: LockSite, key: LockMethodOptions['key']): LockDeclaration['keyOf'] {
  if (typeof key === 'function') {
    return (call) => {
      try {
        return readKeys(key.apply(call.self, [...call.args]));
      } catch (error) {
        throw keyFunctionFault(label, error);
      }
    };
  }
  if (Array.isArray(key)) refuseHoles(`${label}: key`, key);
  const templates = [key].flat().map((text: unknown) => {
    if (typeof text === 'string') return compileKeyTemplate(text, site);
    throw new LockConfigError(
      `${label}: there is no key; write a template such as key: 'stock:#{#order.sku}', several in a list, or a function.`,
    );
  });
  if (templates.length === 0) throw new LockConfigError(`${label}: the list of keys is empty.`);
  return ({ self, args, request }) => {
    const keys = templates.map((template) => template.resolve({ self, args, request }));
    return keys.length === 1 ? keys[0]! : keys;
  };
}

/** What handlers are locked by is made of requests alone, so it is they that are wrong; but for mistakes in a function. */
function blamingRequests(keyOf: LockDeclaration['keyOf']): LockDeclaration['keyOf'] {
  return (call) => {
    try {
      return keyOf(call);
    } catch (error) {
      if (isLockKeyError(error) && !isMistake(error.cause)) error.fromRequest = true;
      throw error;
    }
  };
}

/** What a key function threw on purpose goes to the caller as it is; what is wrong with it, or its key, names the method. */
function keyFunctionFault(label: string, error: unknown): unknown {
  if (!isLockKeyError(error) && !isMistake(error)) return error;
  return new LockKeyError(`${label}: the key function failed: ${(error as Error).message}`, { cause: error });
}

/** What the language throws at code that is wrong. */
const MISTAKES = [TypeError, ReferenceError, RangeError];

const isMistake = (error: unknown): boolean => MISTAKES.some((type) => error instanceof type);

function decide(label: string, answer: unknown): boolean {
  // A promise is true whatever it becomes, so the method would always be locked.
  if (typeof answer === 'boolean') return answer;
  throw new LockConfigError(`${label}: condition must return true or false at once, not ${typeof answer}.`);
}
