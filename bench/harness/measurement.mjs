import { setTimeout as sleep } from 'node:timers/promises';
import { SharedState } from './shared-state.mjs';

/** How long a library may take to come to an end before its threads are dropped, in ms. */
const PATIENCE = 20_000;

/**
 * One measurement: opens the library in each of `processes` threads, lets the loop warm up, measures for the configured
 * time, stops. Resolves to the records and the costs of the threads.
 */
export async function measure({ threads, server, target }, { processes = 1, library, variant, loop, terms, timing }) {
  await server.clear();
  const state = new SharedState();
  const taken = await threads.take(processes, library);
  const all = (method, ...args) => Promise.all(taken.map((thread) => thread.call(method, ...args)));
  try {
    await Promise.all(
      taken.map((thread, slot) => thread.call('open', { buffer: state.buffer, slot, library, variant, ...target })),
    );
    await all('begin', loop, terms);
    const finished = within(all('finish'), timing.warmUp + timing.window + PATIENCE);
    finished.catch(() => undefined);
    await Promise.race([sleep(timing.warmUp), finished]);
    const before = { ...(await server.usage()), commands: state.commands };
    state.start();
    await Promise.race([sleep(timing.window), finished]);
    state.stop();
    const after = { commands: state.commands, ...(await server.usage()) };
    const parts = await finished;
    await within(all('close'), PATIENCE);
    return {
      parts,
      window: state.window,
      violations: state.violations,
      commands: after.commands - before.commands,
      serverCalls: after.calls - before.calls,
      serverCpu: after.cpu - before.cpu,
    };
  } catch (error) {
    state.stop();
    await threads.drop(taken);
    throw error;
  }
}

function within(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`has not come to an end within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
