import { setTimeout as sleep } from 'node:timers/promises';
import {
  commandRates,
  manyKeys,
  measureIdle,
  measureReconnect,
  measureRestart,
  openMeasured,
  timed,
} from './measured-client.mjs';

const AT_A_TIME = 200;
/** Two rounds of renewals, with the default lease. */
const TWO_ROUNDS = 22_000;
const AFTERWARDS = 5_000;

/** A client that holds very many keys, which its watchdog renews. */
export async function measureHolds(bench) {
  console.log(`\n${bench.count} holds of one client`);
  const client = await openMeasured(bench);
  await measureIdle();
  const keys = manyKeys(bench.count);
  const handles = [];
  await timed('all are acquired', async () => {
    while (handles.length < keys.length) {
      const next = keys.slice(handles.length, handles.length + AT_A_TIME);
      handles.push(...(await Promise.all(next.map((key) => client.acquire(key)))));
    }
  });
  const stillHeld = () => console.log(`  still held: ${handles.filter(({ isHeld }) => isHeld).length}`);
  await commandRates(bench, () => timed('two rounds of renewals', () => sleep(TWO_ROUNDS)));
  stillHeld();
  await measureReconnect(bench, AFTERWARDS);
  stillHeld();
  if (!bench.isCluster) {
    await measureRestart(bench, AFTERWARDS);
    stillHeld();
  }
  await timed('close()', () => client.close());
}
