import { types } from 'node:util';
import { isLockConfigError, LockConfigError } from '../errors/index.js';
import { describe, oneLine } from '../common/describe.js';

/**
 * Options are what their caller wrote down: data of their own. What a getter or a prototype would add is refused, and neither
 * used nor passed over: copies lose it, and a polluted `Object.prototype` would give all callers one owner.
 * @param known the names that are read; without them everything counts that is inherited
 * @throws LockConfigError that names the first
 */
export function refuseHiddenOptions(label: string, written: object, known?: readonly string[]): void {
  for (const name of Object.getOwnPropertyNames(written)) {
    const property = Object.getOwnPropertyDescriptor(written, name)!;
    if (property.get !== undefined || property.set !== undefined) throw hidden(label, name, 'a getter', written);
    if (property.enumerable !== true) throw hidden(label, name, 'not enumerable', written);
  }
  const inherited =
    known?.find((name) => name in written && !Object.hasOwn(written, name)) ?? inheritedName(written, known);
  if (inherited !== undefined) throw hidden(label, inherited, 'inherited', written);
}

/**
 * What keeps its content elsewhere than in properties has no options, though it is an object.
 * @throws LockConfigError
 */
export function refuseOtherKinds(label: string, written: object): void {
  if (types.isPromise(written)) throw new LockConfigError(`${label} is a promise of options: await it first.`);
  const isOther = types.isMap(written) || types.isSet(written) || types.isDate(written);
  if (isOther) throw new LockConfigError(`${label} takes a plain object of options; this is ${describe(written)}.`);
}

/**
 * @param look looks at options, which may be a proxy
 * @throws LockConfigError for what does not let itself be looked at
 */
export function refuseUnreadable(label: string, look: () => void): void {
  try {
    look();
  } catch (error) {
    if (isLockConfigError(error)) throw error;
    throw new LockConfigError(`${label}: the options are a proxy that cannot be read: write a plain object.`, {
      cause: error,
    });
  }
}

/** Of what has no list of names, such as ioredis' options: whatever a class of the user's gives it, but methods. */
function inheritedName(written: object, known: readonly string[] | undefined): string | undefined {
  if (known !== undefined) return undefined;
  for (let from: unknown = Object.getPrototypeOf(written); isClassLike(from); from = Object.getPrototypeOf(from)) {
    const data = Object.entries(Object.getOwnPropertyDescriptors(from)).find(
      ([name, { value }]) => name !== 'constructor' && typeof value !== 'function' && !Object.hasOwn(written, name),
    );
    if (data !== undefined) return data[0];
  }
  return undefined;
}

/** Of another realm, too: what has no prototype is everybody's. */
const isClassLike = (prototype: unknown): prototype is object =>
  typeof prototype === 'object' && prototype !== null && Object.getPrototypeOf(prototype) !== null;

function hidden(label: string, name: string, how: string, written: object): LockConfigError {
  const option = oneLine(name);
  return new LockConfigError(
    `${label}: ${option} is ${how} in ${describe(written)}, and options are data of their own: ` +
      `write { ${option}: … } with its value.`,
  );
}

/**
 * A list as it is, each place filled.
 * @throws LockConfigError for a hole, which `map` and `every` pass over
 */
export function refuseHoles(label: string, list: readonly unknown[]): void {
  const hole = holeIn(list);
  if (hole !== undefined)
    throw new LockConfigError(`${label}[${hole}] is missing: there are two commas in a row, or it was deleted.`);
}

/** The place of the first hole, if there is one. */
export function holeIn(list: readonly unknown[]): number | undefined {
  for (let i = 0; i < list.length; i++) if (!Object.hasOwn(list, i)) return i;
  return undefined;
}
