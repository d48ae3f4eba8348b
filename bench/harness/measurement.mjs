import { setTimeout as sleep } from 'node:timers/promises';
import { loadLibrary } from '../libraries/index.mjs';

/** How long a library may take to come to an end before its threads are dropped, in ms. */
const PATIENCE = 20_000;

/**
 * One measurement: opens the library in each of so many threads, or processes of another language, lets the loop warm
 * up, measures for the configured time, stops. Resolves to the records and the costs of the threads.
 */
export async function measure(context, { processes: count = 1, library, variant, loop, terms, timing }) {
  const { threads, processes, server, target } = context;
  const { program } = await loadLibrary(library);
  const crew = program === undefined ? threads : processes;
  await server.clear();
  const taken = await crew.take(count, library);
  const state = crew.newState();
  const all = (method, ...args) => Promise.all(taken.map((thread) => thread.call(method, ...args)));
  try {
    await Promise.all(
      taken.map((thread, slot) => crew.open(thread, { ...state.shared, slot, library, variant, ...target })),
    );
    await crew.warmUp(taken, { library, variant, terms, timing });
    await all('begin', loop, terms);
    const finished = within(all('finish'), timing.warmUp + timing.window + PATIENCE, () => describe(state));
    finished.catch(() => undefined);
    await Promise.race([sleep(timing.warmUp), finished]);
    const before = { ...(await server.usage()), commands: state.commands, clientCpu: await crew.cpu(taken) };
    state.start();
    await Promise.race([sleep(timing.window), finished]);
    state.stop();
    const after = { clientCpu: await crew.cpu(taken), commands: state.commands, ...(await server.usage()) };
    const parts = await finished;
    await within(all('close'), PATIENCE);
    return {
      parts,
      window: state.window,
      violations: state.violations,
      commands: after.commands - before.commands,
      serverCalls: after.calls - before.calls,
      serverCpu: after.cpu - before.cpu,
      clientCpu: after.clientCpu - before.clientCpu,
    };
  } catch (error) {
    state.stop();
    await crew.drop(taken);
    throw error;
  } finally {
    state.close();
  }
}

const describe = ({ waiting }) => (waiting > 0 ? `; callers that still wait for the lock: ${waiting}` : '');

function within(promise, ms, more = () => '') {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`has not come to an end within ${ms} ms${more()}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
