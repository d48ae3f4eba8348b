import { setTimeout as sleep } from 'node:timers/promises';
import { watchDelay } from '../harness/loop-delay.mjs';

const ROUNDS_OF_RENEWAL = 2;
const RESOLUTION = 5;
const AT_A_TIME = 200;

const SIZES = {
  full: { count: 10_000, lease: 30_000 },
  quick: { count: 1_000, lease: 1_500 },
};

export default {
  name: 'held-locks',
  title: '10 000 held locks',
  about:
    'What it costs one process to hold 10 000 locks with leases of 30 s, which are renewed at every third of it. The share ' +
    'is that of one core, all threads of the benchmark counted; the delay is how much later timers fire than they should. Watching it takes time, too: what that takes stands beside.',
  columns: [
    { key: 'commands', title: 'commands per renewal round', digits: 1 },
    { key: 'core', title: '% of a core', digits: 2 },
    { key: 'idleCore', title: 'the same before, with none held', digits: 2 },
    { key: 'delay', title: 'event loop delay p99 ms', digits: 2 },
    { key: 'idleDelay', title: 'the same before, with none held', digits: 2 },
    { key: 'longestDelay', title: 'longest delay ms', digits: 1 },
    { key: 'held', title: 'still held', digits: 0 },
  ],
  charts: [],
  includes: ({ library, variant }) => library === 'ours' && variant === 'defaults',
  rounds: ({ rounds }) => Math.min(rounds, 3),

  async measure({ threads, server, target }, _variant, { isQuick }) {
    await server.clear();
    const [thread] = await threads.take(1, 'ours');
    return thread.call('work', import.meta.url, 'hold', { target, ...SIZES[isQuick ? 'quick' : 'full'] });
  },
};

/** In a thread. */
export async function hold({ target, count, lease, connectionTo, loadLibrary, sent }) {
  const { open } = await loadLibrary('ours');
  const client = await open({ connection: connectionTo(target), module: { renewedLease: lease } });
  const idle = watchDelay(RESOLUTION);
  const idleShare = watchCore();
  await sleep(lease / 10);
  const idleCore = idleShare();
  const { delay: idleDelay } = idle.stop();
  const handles = [];
  while (handles.length < count) {
    const keys = Array.from({ length: AT_A_TIME }, (_, i) => `held:${handles.length + i}`);
    handles.push(...(await Promise.all(keys.map((key) => client.acquire(key)))));
  }
  const delay = watchDelay(RESOLUTION);
  const [commands, share] = [sent(), watchCore()];
  await sleep((ROUNDS_OF_RENEWAL * lease) / 3);
  const result = {
    core: share(),
    commands: (sent() - commands) / ROUNDS_OF_RENEWAL,
    idleCore,
    ...delay.stop(),
    idleDelay,
    held: handles.filter(({ isHeld }) => isHeld).length,
  };
  while (handles.length > 0) await Promise.all(handles.splice(0, AT_A_TIME).map((handle) => client.release(handle)));
  await client.close();
  return result;
}

/** Answers how to tell the share of one core that this process has had since, in %. */
function watchCore() {
  const [cpu, began] = [process.cpuUsage(), performance.now()];
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return ((user + system) / 1_000 / (performance.now() - began)) * 100;
  };
}
