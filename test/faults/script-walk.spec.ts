import { ScriptWalk } from '../../lab/testbed/locks/script-walk.mjs';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';

/** No script makes more calls than this, which takes Redis about half a millisecond. */
const MOST_CALLS = 450;
/** Sizes that a script would exceed if it looked at all holders, or at all waiters. */
const SIZES = { holders: 1_500, waiters: 1_500, dead: 500 };
/** Commands that read a whole record. */
const READS_ALL = ['hgetall', 'hkeys', 'hvals'];

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** How often the scripts have called each command since the last reset. */
async function calls(): Promise<Map<string, number>> {
  const lines = (await redis.admin.info('commandstats')).matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm);
  const counts = new Map([...lines].map(([, name, count]) => [name!, Number(count)]));
  for (const name of ['evalsha', 'config|resetstat', 'config', 'info']) counts.delete(name);
  return counts;
}

it('no script looks at all of many holders or waiters, whatever it does', async () => {
  const { admin } = redis;
  const most = new Map<string, number>();
  const readsAll = new Set<string>();
  const walk = new ScriptWalk(admin, SIZES, async (label, call) => {
    await admin.config('RESETSTAT');
    const reply: unknown = await call();
    const counts = await calls();
    const sum = [...counts.values()].reduce((all, count) => all + count, 0);
    most.set(label, Math.max(most.get(label) ?? 0, sum));
    // An exclusive lock has one hold, and of the expired holds at most a few are left when a script reads all of them. A latch
    // that opens notifies all of its waiters, and the start reads nothing.
    if (!/^(exclusive|expired|latch|start)\b/.test(label) && READS_ALL.some((name) => counts.has(name)))
      readsAll.add(label);
    return reply;
  });
  await walk.run();
  expect(most.size).toBeGreaterThan(40);
  expect([...most].filter(([, count]) => count > MOST_CALLS)).toEqual([]);
  expect([...readsAll]).toEqual([]);
});
