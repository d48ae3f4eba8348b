import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { nothingLeftBehind } from '../../lab/testbed/locks/fault-locks.js';
import { LockBench, timed } from '../../lab/testbed/locks/locks.js';

const BOUND = 600;
const LATE = 1_500;

const bench = new LockBench();

it('an acquire whose replies are dropped fails, and its unconfirmed hold ends soon after its commandTimeout', async () => {
  const proxy = await bench.proxy();
  const near = await bench.service();
  const far = await bench.service({ connection: proxy.url, commandTimeout: BOUND });
  // The server knows the script; otherwise it would receive a request that it cannot execute.
  await (await far.acquire('a')).release();
  proxy.dropReplies();
  const acquired = timed(far.acquire('a', { expire: 30_000, waitTimeout: 5_000 }));
  // Requests pass: Redis has granted the lock to a client that does not know.
  await eventually(async () => (await near.inspect('a'))?.holds === 1);
  const next = timed(near.acquire('a'));
  const { error, ran } = await acquired;
  expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
  expect(ran).toBeLessThan(2 * BOUND + LATE);
  const { value, took: waited } = await next;
  expect(waited).toBeLessThan(2 * BOUND + 2 * LATE);
  await value!.verify();
  proxy.heal();
  // Commands that were sent twice or late have no effect.
  await eventually(async () => (await near.inspect('a'))?.waiters.length === 0);
  await value!.verify();
  expect(await value!.release()).toBe(true);
  expect(await (await far.acquire('a', { waitTimeout: 5_000 })).release()).toBe(true);
  await nothingLeftBehind(bench.redis);
});
