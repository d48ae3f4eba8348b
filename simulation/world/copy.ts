/**
 * A copy of a server's state, with all that belongs to it: a change to one does not change the other. `kept` stays
 * itself in the copy, as functions do. A copied iterator is at its end.
 */
export function copyOf<T>(original: T, kept: readonly object[]): T {
  const copies = new Map<unknown, unknown>(kept.map((each) => [each, each]));
  const copy = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (!copies.has(value)) copyObject(value);
    return copies.get(value);
  };
  const copyObject = (value: object): void => {
    if (value instanceof Map) {
      const map = new Map<unknown, unknown>();
      copies.set(value, map);
      for (const [key, entry] of value) map.set(key, copy(entry));
    } else if (value instanceof Set) {
      copies.set(value, new Set([...(value as Set<unknown>)].map(copy)));
    } else if (Symbol.iterator in value && !Array.isArray(value)) {
      copies.set(value, new Map().entries());
    } else {
      const object = Array.isArray(value) ? [] : (Object.create(Object.getPrototypeOf(value) as object) as object);
      copies.set(value, object);
      for (const [name, entry] of Object.entries(value as Record<string, unknown>))
        Reflect.set(object, name, copy(entry));
    }
  };
  return copy(original) as T;
}
