/**
 * How many objects can be reached from `root` through properties, elements of collections and prototypes' own data: a
 * measure of how much an object keeps alive, by any path. Functions and their closures are not seen.
 */
export function countReachable(root: object): number {
  let count = 1;
  for (const value of reachableFrom(root)) if (typeof value === 'object' && value !== null) count += 1;
  return count;
}

/** All that can be reached so, each object once, and each text as often as it stands somewhere. */
export function* reachableFrom(root: object): Iterable<unknown> {
  const seen = new Set<object>([root]);
  const left: object[] = [root];
  for (let object = left.pop(); object !== undefined; object = left.pop()) {
    for (const value of contentOf(object)) {
      if (typeof value !== 'object' || value === null) {
        yield value;
        continue;
      }
      if (seen.has(value)) continue;
      seen.add(value);
      left.push(value);
      yield value;
    }
  }
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
