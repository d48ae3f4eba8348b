/**
 * How many objects can be reached from `root` through properties, elements of collections and prototypes' own data: a
 * measure of what something keeps, whatever it is that keeps it. Functions and what they close over are not seen.
 */
export function countReachable(root: object): number {
  const seen = new Set<object>();
  const left: object[] = [root];
  for (let object = left.pop(); object !== undefined; object = left.pop()) {
    if (seen.has(object)) continue;
    seen.add(object);
    for (const value of contentOf(object)) if (typeof value === 'object' && value !== null) left.push(value);
  }
  return seen.size;
}

function* contentOf(object: object): Iterable<unknown> {
  if (ArrayBuffer.isView(object)) return;
  if (object instanceof Map) yield* [...object.keys(), ...object.values()];
  if (object instanceof Set) yield* object;
  for (const name of Reflect.ownKeys(object)) {
    const property = Reflect.getOwnPropertyDescriptor(object, name);
    if (property !== undefined && 'value' in property) yield property.value;
  }
}
