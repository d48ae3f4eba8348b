import { setTimeout as sleep } from 'node:timers/promises';
import { loadLibrary } from '../libraries/index.mjs';

/** How long a library may take to come to an end before its threads are dropped, in ms. */
const PATIENCE = 20_000;

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
 */
export async function measureSides(context, { sides, isMapped = sides.length > 1, loop, terms, timing }) {
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
  try {
    await Promise.all(
      members.map(({ thread, crew, library, variant }, slot) =>
        crew.open(thread, { ...state.shared, slot, library, variant, ...target }),
      ),
    );
    await Promise.all(
      crews.map(({ crew, taken, library, variant }) => crew.warmUp(taken, { library, variant, terms, timing })),
    );
    await all('begin', loop, terms);
    const finished = within(all('finish'), timing.warmUp + timing.window + PATIENCE, () => describe(state));
    finished.catch(() => undefined);
    await Promise.race([sleep(timing.warmUp), finished]);
    const before = { ...(await server.usage()), commands: state.commands, clientCpu: await cpu() };
    state.start();
    await Promise.race([sleep(timing.window), finished]);
    state.stop();
    const after = { clientCpu: await cpu(), commands: state.commands, ...(await server.usage()) };
    const parts = await finished;
    const partsOf = ({ taken }) => parts.splice(0, taken.length);
    await within(all('close'), PATIENCE);
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

function within(promise, ms, more = () => '') {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`has not come to an end within ${ms} ms${more()}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
