import { setTimeout as sleep } from 'node:timers/promises';
import { RunningTime } from './running-time.mjs';

export async function eventually(look, { within = 15_000, every = 5, what = 'the condition' } = {}) {
  const time = new RunningTime();
  try {
    for (;;) {
      let failure;
      try {
        const value = await look();
        if (value) return value;
      } catch (error) {
        failure = error;
      }
      if (time.ran > within) throw failure ?? new Error(`${what} did not come about within ${within} ms`);
      await sleep(every);
    }
  } finally {
    time.stop();
  }
}

export async function eventuallyPasses(check, options) {
  await eventually(async () => {
    await check();
    return true;
  }, options);
}
