import { types } from 'node:util';
import { LockConfigError } from '../errors/index.js';
import { describe, oneLine } from '../common/describe.js';

/**
 * Whether an object certainly passes all checks of this file: a plain object with nothing but known options in its own
 * properties. Most callers write one, and this costs a tenth of the checks. The caller must read own properties only: what is
 * not enumerable in `Object.prototype` is not seen here.
 */
export function isPlainly(written: unknown, known: readonly string[]): written is object {
  if (typeof written !== 'object' || written === null || types.isProxy(written)) return false;
  const prototype: unknown = Object.getPrototypeOf(written);
  if (prototype !== null && prototype !== Object.prototype) return false;
  let count = 0;
  for (const name in written) {
    if (!known.includes(name)) return false;
    const property = Object.getOwnPropertyDescriptor(written, name);
    if (property === undefined || property.get !== undefined || property.set !== undefined) return false;
    count += 1;
  }
  return Object.getOwnPropertyNames(written).length === count && Object.getOwnPropertySymbols(written).length === 0;
}

/**
 * Refuses an object that has no options in its properties: a promise, a Map, a Set, a Date.
 * @throws LockConfigError
 */
export function refuseOtherKinds(label: string, written: object): void {
  if (types.isPromise(written)) throw new LockConfigError(`${label} is a promise of options: await it first.`);
  const isOther = types.isMap(written) || types.isSet(written) || types.isDate(written);
  if (isOther) throw new LockConfigError(`${label} takes a plain object of options; this is ${describe(written)}.`);
}

/**
 * Refuses options that a getter or a prototype adds. A copy of the options would lose them, and a polluted `Object.prototype`
 * would give all callers the same owner.
 * @param known the names that are read; without them every inherited property is refused
 * @throws LockConfigError that names the first such option
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

/** Finds an inherited property, other than a method, of options without a list of names, such as those of ioredis. */
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

/** Whether a prototype is that of a class. `Object.prototype`, also that of another realm, has no prototype itself. */
const isClassLike = (prototype: unknown): prototype is object =>
  typeof prototype === 'object' && prototype !== null && Object.getPrototypeOf(prototype) !== null;

function hidden(label: string, name: string, how: string, written: object): LockConfigError {
  const option = oneLine(name);
  return new LockConfigError(
    `${label}: ${option} is ${how} in ${describe(written)}, but an option must be an own, enumerable property: ` +
      `write { ${option}: … } with its value.`,
  );
}

/**
 * Refuses a list with a hole, which `map` and `every` would skip.
 * @throws LockConfigError
 */
export function refuseHoles(label: string, list: readonly unknown[]): void {
  const hole = holeIn(list);
  if (hole !== undefined)
    throw new LockConfigError(`${label}[${hole}] is missing: there are two commas in a row, or it was deleted.`);
}

/** The index of the first hole, if there is one. */
export function holeIn(list: readonly unknown[]): number | undefined {
  for (let i = 0; i < list.length; i++) if (!Object.hasOwn(list, i)) return i;
  return undefined;
}
