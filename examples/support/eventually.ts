import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `look` returns something truthy, 10 s at most, and returns it. */
export async function eventually<T>(look: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`did not come about within 10 s: ${look}`);
    await sleep(10);
  }
}
