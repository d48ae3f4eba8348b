import { setTimeout as sleep } from 'node:timers/promises';
import { usedHeap } from '../harness/heap.mjs';
import {
  commandRates,
  manyKeys,
  measureIdle,
  measureReconnect,
  measureRestart,
  openMeasured,
  timed,
} from './measured-client.mjs';

/** About 10 000 calls a second: Redis executes not many more, and a call that waits for longer than commandTimeout fails. */
const AT_A_TIME = 200;
const PAUSE = 20;
const WAITING = 20_000;
const AFTERWARDS = 10_000;
const LONGEST = 60_000;

/** A client that waits for very many keys, each held by another client. */
export async function measureWaiters(bench) {
  console.log(`\n${bench.count} waiters of one client on as many keys`);
  const keys = manyKeys(bench.count);
  await bench.other.hold(keys);

  const first = await openMeasured(bench);
  await measureIdle();
  const waiting = await waitForAll(bench, first, keys);
  await commandRates(bench, () => timed('they wait', () => sleep(WAITING)));
  waiting.report();
  if (bench.reshards) {
    await commandRates(bench, () => timed('a third of the slots moves', () => bench.server.reshard()));
    waiting.report();
  }
  await measureReconnect(bench, AFTERWARDS);
  waiting.report();
  if (!bench.isCluster) {
    await measureRestart(bench, AFTERWARDS);
    waiting.report();
  }
  await timed('until all wait again', () => waiting.untilAllWait());
  await timed('close()', () => first.close());

  await measureGrants(bench, keys);
}

async function measureGrants(bench, keys) {
  const second = await openMeasured(bench);
  const { calls, report } = await waitForAll(bench, second, keys);
  await timed('all are granted after the releases', async () => {
    await bench.other.release(keys);
    const handles = await Promise.all(calls);
    console.log(`  granted: ${handles.filter((handle) => handle !== undefined).length}`);
  });
  report();
  await timed('close() with as many holds', () => second.close());
}

async function waitForAll({ other }, client, keys) {
  const before = usedHeap();
  const calls = [];
  const failures = new Map();
  const failed = new Set();
  /** Leaves out waiters that have failed. */
  const untilAllWait = () =>
    Promise.race([
      other.untilAllWait(keys.filter((key) => !failed.has(key))),
      sleep(LONGEST, undefined, { ref: false }),
    ]);
  await timed('all begin to wait', async () => {
    for (const key of keys) {
      const onFailure = ({ message }) => {
        failed.add(key);
        const kind = message.replace(/'[^']*'/g, '…').replace(/\d+/g, 'n');
        failures.set(kind, (failures.get(kind) ?? 0) + 1);
      };
      calls.push(client.acquire(key, { waitTimeout: Infinity }).catch(onFailure));
      if (calls.length % AT_A_TIME === 0) await sleep(PAUSE);
    }
    await untilAllWait();
  });
  const report = () => {
    for (const [kind, count] of failures) console.log(`  failed: ${count} × ${kind}`);
    failures.clear();
  };
  report();
  console.log(`  heap per waiter: ${((usedHeap() - before) / keys.length / 1_000).toFixed(2)} kB`);
  return { calls, report, untilAllWait };
}
