import { isSyncFunction, isThenable } from '../common/type-guards.js';
import { fault, read } from '../options/option-readers.js';
import type { OnUnavailable, RunOptions, KeyBuilder } from '../options/acquire-options.js';
import { isLockKeyError, LockConfigError, LockKeyError } from '../errors/index.js';
import { classNameOf, compileKeyTemplate, type LockedCall, type TemplateSite } from '../keys/index.js';
import { distinct, readKeys, type Keys } from '../service/acquirer.js';
import { OPTIONS, type OptionsOf } from '../options/option-table.js';
import { NO_CONTEXT, type CallContext } from '../options/resolve-acquire-options.js';
import { DEFAULT_INSTANCE, getLockServiceToken } from '../module/redis-lock.tokens.js';
import { isMethodKey, keyOfMethod } from './method-key.js';
import type { LockMethodOptions } from './lock-method.options.js';

/** The method to lock. */
export interface LockSite extends TemplateSite {
  /** The decorator, for messages. */
  readonly decorator: '@DistributedLock' | '@UseLock';
}

type KeyOf = (call: LockedCall) => Keys;

/** A lock as it was declared on a method. It is checked, and its template compiled, when the class is defined. */
export interface LockDeclaration {
  /** For messages: `@DistributedLock on StockService.reserve`. */
  readonly site: string;
  readonly instance: string;
  /** The token of the service of that instance. */
  readonly token: symbol;
  readonly onUnavailable: OnUnavailable | undefined;
  readonly options: RunOptions;
  readonly context: CallContext;
  /**
   * The key or keys of a call.
   * @throws LockKeyError if no key can be made from the arguments; an error that a key function throws on purpose
   */
  readonly keyOf: KeyOf;
  /**
   * The final keys of a call, as `build` of the module makes them from `keys`.
   * @throws as `keyOf` does
   */
  readonly builtKeys: (call: LockedCall, keys: Keys, build: KeyBuilder) => Keys;
  /** Whether this call takes the lock; `undefined`: each does. An error of the condition goes to the caller. */
  readonly applies: ((call: LockedCall) => boolean) | undefined;
}

/**
 * Checks and compiles a lock.
 * @throws LockConfigError for an option, LockKeyError for a template that cannot be used: the application does not start
 */
export function declareLock(site: LockSite, written: LockMethodOptions): LockDeclaration {
  const label = `${site.decorator} on ${site.className}.${site.methodName}`;
  const table = site.decorator === '@UseLock' ? OPTIONS.decorator : OPTIONS.distributedLock;
  const options: Partial<OptionsOf<'distributedLock'>> = table.read(label, written, `${label}: `);
  const { key: _, returns: _returns, condition, instance = DEFAULT_INSTANCE, ...lockOptions } = options;
  const { onContended, onUnavailable, ...runOptions } = lockOptions;
  const keyOf = compileKey(label, site, written.key);
  const { waitTimeout, pattern = patternOf(label, site, written.key) } = written;
  return {
    site: label,
    instance,
    token: getLockServiceToken(instance),
    onUnavailable,
    options: Object.freeze({
      __proto__: null,
      ...runOptions,
      // As it was written, because the warning about a number that may mean seconds needs to tell it from a text.
      ...(waitTimeout === undefined ? {} : { waitTimeout }),
      ...(pattern === undefined ? {} : { pattern }),
    }),
    context: Object.freeze({ ...NO_CONTEXT, method: methodOf(site), onContended }),
    keyOf: site.decorator === '@UseLock' ? blamingRequests(keyOf) : keyOf,
    builtKeys: (call, keys, build) => builtKeys(label, site, call, keys, build),
    applies: condition && ((call) => decide(label, condition.apply(call.self, [...call.args]))),
  };
}

/** The name of a method in errors. */
const methodOf = ({ className, methodName }: LockSite): string => `${className}.${methodName}`;

/** What stands for the keys in metrics unless `pattern` says otherwise: their templates. */
function patternOf(label: string, site: LockSite, key: LockMethodOptions['key']): string | undefined {
  if (typeof key === 'function') return undefined;
  return isMethodKey(key) ? keyOfMethod(label, key, site) : [key].flat().join(', ');
}

/** Like a key function, the builder runs in the caller's async context. */
function builtKeys(label: string, site: LockSite, call: LockedCall, keys: Keys, build: KeyBuilder): Keys {
  const { methodName } = site;
  const className = classNameOf(call, site);
  const buildOne = (key: string): string => synchronous(build(key, { className, methodName, args: call.args }));
  try {
    return readKeys(typeof keys === 'string' ? buildOne(keys) : keys.map(buildOne));
  } catch (error) {
    throw keyFunctionFault(label, site, error, 'the keyBuilder of the module');
  }
}

function compileKey(label: string, site: LockSite, key: LockMethodOptions['key']): KeyOf {
  if (isMethodKey(key)) {
    const made = keyOfMethod(label, key, site);
    return (call) => {
      const className = classNameOf(call, site);
      return className === site.className ? made : keyOfMethod(label, key, { ...site, className });
    };
  }
  if (typeof key === 'function') {
    if (!isSyncFunction(key)) throw fault(`${label}: key`, key, `, but ${KEYS_ARE_SYNCHRONOUS}`);
    return (call) => {
      try {
        return readKeys(synchronous(key.apply(call.self, [...call.args])));
      } catch (error) {
        throw keyFunctionFault(label, site, error);
      }
    };
  }
  const templates = readTemplates(`${label}: key`, key).map((text) => compileKeyTemplate(text, site));
  const [first, ...others] = templates;
  return others.length === 0 ? first! : (call) => distinct(templates.map((template) => template(call)));
}

const TEMPLATE = "a template such as key: 'stock:#{#order.sku}', several in a list, or a function for all keys";
const readTemplates = read.oneOrMore(
  read.checked<string>((text) => typeof text === 'string', TEMPLATE),
  TEMPLATE,
);

/** Refuses the promise of a function that makes keys: the lock is requested in the same turn as the call. */
function synchronous<T>(made: T): T {
  if (!isThenable(made)) return made;
  // An unhandled rejection would end the process.
  made.then(undefined, () => undefined);
  throw new LockKeyError(`it returned a promise, but ${KEYS_ARE_SYNCHRONOUS}.`);
}

const KEYS_ARE_SYNCHRONOUS =
  'keys are made synchronously: pass what it waits for as an argument of the method, or await it in the method and lock ' +
  'there with LockService.run';

/** The key of a handler comes from the request alone, so a key error is a fault of the request, unless a function is wrong. */
function blamingRequests(keyOf: KeyOf): KeyOf {
  return (call) => {
    try {
      return keyOf(call);
    } catch (error) {
      if (isLockKeyError(error) && !isMistake(error.cause)) error.fromRequest = true;
      throw error;
    }
  };
}

/** An error that a key function threw on purpose stays as it is; a mistake in the function, or its key, names the method. */
function keyFunctionFault(label: string, site: LockSite, error: unknown, what = 'the key function'): unknown {
  if (!isLockKeyError(error) && !isMistake(error)) return error;
  const details = { method: methodOf(site), cause: error };
  return new LockKeyError(`${label}: ${what} failed: ${(error as Error).message}`, details);
}

/** The errors that JavaScript throws for mistakes in code. */
const MISTAKES = [TypeError, ReferenceError, RangeError];

const isMistake = (error: unknown): boolean => MISTAKES.some((type) => error instanceof type);

function decide(label: string, answer: unknown): boolean {
  // A promise is truthy whatever its value, so the method would always be locked.
  if (typeof answer === 'boolean') return answer;
  throw new LockConfigError(`${label}: condition must return true or false at once, not ${typeof answer}.`);
}
