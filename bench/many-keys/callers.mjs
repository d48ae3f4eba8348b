import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { manyKeys, openMeasured, timed } from './measured-client.mjs';

const AT_A_TIME = 200;
const WAITING = 5_000;

/** A client with very many callers that wait for one key. */
export async function measureCallers(bench) {
  console.log(`\n${bench.count} callers of one client that wait for one key`);
  const [key] = manyKeys(1);
  await bench.other.hold([key]);
  const client = await openMeasured(bench);
  const calls = [];
  await timed('all begin to wait', async () => {
    while (calls.length < bench.count) {
      calls.push(client.acquire(key, { waitTimeout: Infinity }).catch(() => undefined));
      if (calls.length % AT_A_TIME === 0) await nextTurn();
    }
    await bench.other.untilAllWait([key]);
  });
  await timed('they wait', () => sleep(WAITING));
  await timed('close()', async () => {
    await client.close();
    await Promise.all(calls);
  });
}
