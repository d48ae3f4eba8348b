import { setTimeout as sleep } from 'node:timers/promises';

export async function eventually(look, { within = 5000, every = 5, what = 'the condition' } = {}) {
  const deadline = performance.now() + within;
  for (;;) {
    let failure;
    try {
      const value = await look();
      if (value) return value;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) throw failure ?? new Error(`${what} did not come about within ${within} ms`);
    await sleep(every);
  }
}

export async function eventuallyPasses(check, options) {
  await eventually(async () => {
    await check();
    return true;
  }, options);
}
