import { setTimeout as sleep } from 'node:timers/promises';
import { watchDelay } from '../harness/loop-delay.mjs';

const RESOLUTION = 1;
const MARGIN = 50;
const IDLE = 10_000;
const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

/** A client whose event loop is measured. The server and all other clients run in other processes and threads. */
export async function openMeasured({ connection, commandTimeout }) {
  const { createLockClient } = await import('../../dist/esm/client/index.js');
  return createLockClient({ connection, commandTimeout, shutdownTimeout: 0 }, { logger: SILENT });
}

/** Prints how long a task took, and by how much timers were late meanwhile. */
export async function timed(what, task) {
  const delay = watchDelay(RESOLUTION);
  // A delay is the time from one tick to the next, so the first tick has to come before the task.
  await sleep(MARGIN);
  const start = performance.now();
  const result = await task();
  const seconds = (performance.now() - start) / 1_000;
  // The end of the task may itself have blocked the event loop.
  await sleep(MARGIN);
  const { delay: p99, longestDelay } = delay.stop();
  const cells = [`${seconds.toFixed(2)} s`, `p99 ${p99.toFixed(1)} ms`, `longest ${longestDelay.toFixed(1)} ms`];
  console.log(`${what.padEnd(60)} ${cells.map((cell) => cell.padStart(18)).join('')}`);
  return result;
}

/** What the same process shows while it does nothing: the noise of the machine. */
export const measureIdle = () => timed('idle', () => sleep(IDLE));

/** Prints the commands a second that the servers execute during a task. */
export async function commandRates({ server, isCluster }, task) {
  const nodes = isCluster ? server.nodes : [server];
  const read = async () => {
    const sums = {};
    for (const { admin } of nodes) {
      for (const [, name, calls] of (await admin.info('commandstats')).matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm)) {
        sums[name] = (sums[name] ?? 0) + Number(calls);
      }
    }
    return sums;
  };
  const [before, start] = [await read(), performance.now()];
  await task();
  const [after, seconds] = [await read(), (performance.now() - start) / 1_000];
  for (const name of ['evalsha', 'eval', 'publish', 'spublish', 'ssubscribe', 'cluster|slots']) {
    const rate = ((after[name] ?? 0) - (before[name] ?? 0)) / seconds;
    if (rate >= 1) console.log(`  ${name}: ${rate.toFixed(0)} a second`);
  }
}

/** Cuts the connections of all clients, and measures the time after it. */
export async function measureReconnect({ server, isCluster }, ms) {
  const nodes = isCluster ? server.nodes : [server];
  await timed('all connections are cut', async () => {
    for (const type of ['normal', 'pubsub']) {
      await Promise.all(nodes.map(({ admin }) => admin.call('CLIENT', 'KILL', 'TYPE', type)));
    }
    await sleep(ms);
  });
}

/** Ends the server for 2 s, and measures until some time after its return. */
export async function measureRestart({ server }, ms) {
  await timed('the server ends, and returns after 2 s', async () => {
    await server.kill();
    await sleep(2_000);
    await server.start();
    await sleep(ms);
  });
}

export const manyKeys = (count) => Array.from({ length: count }, (_, i) => `many:${i}`);
