import { setTimeout as sleep } from 'node:timers/promises';
import { loadLibrary } from '../libraries/index.mjs';

/**
 * How much longer than planned each step may take before its threads are dropped, in ms. 64 callers that poll every
 * 250 ms at the same time, and get the lock one by one, need 16 s to stop.
 */
const PATIENCE = 20_000;
/** The same for the step that starts clients and warms them up: a JVM that starts on a busy machine is slow. */
const PATIENCE_AT_START = 30_000;

/**
 * One measurement: opens the library in each of so many threads, or processes of another language, lets the loop warm
 * up, measures for the configured time, stops. Resolves to the records and the costs of the threads.
 */
export async function measure(context, { processes, library, variant, ...work }) {
  const { sides, ...measured } = await measureSides(context, { sides: [{ processes, library, variant }], ...work });
  return { parts: sides[0], ...measured };
}

/**
 * One measurement in which several libraries compete. `sides` are `{ processes, library, variant }`, and in the result
 * the records of each. `isMapped` measures a side of Node alone with the state that it has beside another language.
 * `keepsClient`: a thread keeps its client for its next measurement of the same variant.
 */
export async function measureSides(context, { sides, isMapped = sides.length > 1, keepsClient, loop, terms, timing }) {
  const { threads, processes, server, target } = context;
  await server.clear();
  const crews = [];
  for (const { processes: count = 1, library, variant } of sides) {
    const { program } = await loadLibrary(library);
    const crew = program === undefined ? threads : processes;
    crews.push({ crew, taken: await crew.take(count, library), library, variant });
  }
  const state = (isMapped ? processes : crews[0].crew).newState();
  const members = crews.flatMap(({ taken, ...side }) => taken.map((thread) => ({ thread, ...side })));
  const all = (method, ...args) => Promise.all(members.map(({ thread }) => thread.call(method, ...args)));
  const cpu = async () => {
    const seconds = await Promise.all(crews.map(({ crew, taken }) => crew.cpu(taken)));
    return seconds.reduce((sum, each) => sum + each, 0);
  };
  const prepare = async () => {
    await Promise.all(
      members.map(({ thread, crew, library, variant }, slot) =>
        crew.open(thread, { ...state.shared, slot, library, variant, keepsClient, ...target }),
      ),
    );
    await Promise.all(
      crews.map(({ crew, taken, library, variant }) => crew.warmUp(taken, { library, variant, terms, timing })),
    );
  };
  try {
    await within(prepare(), PATIENCE_AT_START, 'hung before the measurement');
    await all('begin', loop, terms);
    const planned = timing.warmUp + timing.window;
    const finished = within(all('finish'), planned + PATIENCE, 'hung while callers competed', () => describe(state));
    finished.catch(() => undefined);
    await Promise.race([sleep(timing.warmUp), finished]);
    const before = { ...(await server.usage()), commands: state.commands, clientCpu: await cpu() };
    state.start();
    await Promise.race([sleep(timing.window), finished]);
    state.stop();
    const after = { clientCpu: await cpu(), commands: state.commands, ...(await server.usage()) };
    const parts = await finished;
    const partsOf = ({ taken }) => parts.splice(0, taken.length);
    await within(all('close'), PATIENCE, 'hung while it closed its clients');
    return {
      sides: crews.map(partsOf),
      window: state.window,
      violations: state.violations,
      commands: after.commands - before.commands,
      serverCalls: after.calls - before.calls,
      serverCpu: after.cpu - before.cpu,
      clientCpu: after.clientCpu - before.clientCpu,
    };
  } catch (error) {
    state.stop();
    await Promise.all(crews.map(({ crew, taken }) => crew.drop(taken)));
    throw error;
  } finally {
    state.close();
  }
}

const describe = ({ waiting }) => (waiting > 0 ? `; callers that still wait for the lock: ${waiting}` : '');

/** Rejects after `ms`, with `what` happened until then. */
export function within(promise, ms, what, more = () => '') {
  promise.catch(() => undefined);
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no end within ${ms / 1_000} s${more()}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
