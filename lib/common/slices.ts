/** How many items one turn of the event loop processes. */
const SLICE = 100;

/**
 * Calls `each` for every item. Very many items do not block the event loop: it continues after each slice. The first slice
 * runs before this returns. Resolves after the last one.
 */
export async function inSlices<T>(items: readonly T[], each: (item: T) => void): Promise<void> {
  for (let start = 0; start < items.length; start += SLICE) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve));
    for (const item of items.slice(start, start + SLICE)) each(item);
  }
}
