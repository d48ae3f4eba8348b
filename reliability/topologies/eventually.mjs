import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `look` answers something truthy, and answers that; what it throws counts as not yet. */
export async function eventually(look, { within = 30_000, every = 20, what = 'the condition' } = {}) {
  const deadline = performance.now() + within;
  for (;;) {
    let failure;
    try {
      const value = await look();
      if (value) return value;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`${what} did not come about within ${within} ms`, { cause: failure });
    }
    await sleep(every);
  }
}
