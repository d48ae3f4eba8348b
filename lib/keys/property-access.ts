import { types } from 'node:util';
import { quote } from '../common/describe.js';

/** Names that lead from data to code. */
export const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

/** Throws: says what is wrong with a property of `container`, as the rest of a sentence that begins with the property. */
export type PropertyFault = (problem: string, container: unknown) => never;

const GIVE_A_FUNCTION = 'give a function as key';

/** The line to write for what a template does not read: `order.total`, `order.id()`. */
const suchAs = (read: string): string =>
  `${GIVE_A_FUNCTION}, such as key: (order) => lockKey\`order:\${order.${read}}\``;

/**
 * Reads a property as data: an own property with a value, never a getter, a function or an inherited one. An absent property
 * is `undefined`. A property that exists and is no data is an error, since `?:` would silently replace it.
 */
export function readProperty(container: unknown, key: string, fault: PropertyFault): unknown {
  if (typeof container === 'function') {
    return fault(`is a property of a function, of which nothing is read: ${GIVE_A_FUNCTION}`, container);
  }
  const property = Object.getOwnPropertyDescriptor(container, key);
  if (property === undefined) return absent(container, key, fault);
  if (property.get || property.set)
    return fault(`is a getter, which a template does not run: ${suchAs(key)}`, container);
  if (typeof property.value === 'function') {
    return fault(`is a function, which a template does not call: ${GIVE_A_FUNCTION}`, container);
  }
  return property.value;
}

/** Like `readProperty`, for a key that was computed from the arguments. */
export function readComputed(container: unknown, key: unknown, fault: PropertyFault): unknown {
  if (typeof key !== 'string' && typeof key !== 'number') {
    return fault('has an index that is neither a string nor a number', container);
  }
  const name = String(key);
  if (FORBIDDEN.has(name)) return fault(`has the index ${quote(name)}, which is never read`, container);
  return readProperty(container, name, fault);
}

function absent(container: unknown, key: string, fault: PropertyFault): undefined {
  if (types.isMap(container) || types.isSet(container)) {
    const what = types.isMap(container) ? 'Map' : 'Set';
    return fault(`is looked for in a ${what}, which a template cannot read: ${GIVE_A_FUNCTION}`, container);
  }
  let type: unknown = Object.getPrototypeOf(container);
  while (type !== null) {
    const inherited = Object.getOwnPropertyDescriptor(type, key);
    if (inherited)
      return fault(
        `is ${kindOf(inherited)}, and a template reads only own data: ${suchAs(typeof inherited.value === 'function' ? `${key}()` : key)}`,
        container,
      );
    type = Object.getPrototypeOf(type);
  }
  return undefined;
}

function kindOf(property: PropertyDescriptor): string {
  if ('get' in property) return 'a getter of its class';
  return typeof property.value === 'function' ? 'a method' : 'inherited';
}
