/** How many items one turn of the event loop processes. */
const SLICE = 50;

/**
 * Calls `each` for every item. Very many items do not block the event loop: it continues after each slice. The first slice
 * runs before this returns. Resolves after the last one.
 */
export async function inSlices<T>(items: Iterable<T>, each: (item: T) => void): Promise<void> {
  let count = 0;
  for (const item of items) {
    if (count > 0 && count % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
    count += 1;
    each(item);
  }
}
