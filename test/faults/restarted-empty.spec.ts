import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { abortOf, FaultLocks, nothingLeftBehind, redisKey } from '../../lab/testbed/locks/fault-locks.js';
import { useRedisForEach } from '../../lab/testbed/locks/fault-setups.js';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { KINDS } from '../integration/kinds/support.js';

const LEASE = 2_500;

const locks = new FaultLocks();
let redis: RedisServer;
useRedisForEach(locks, (started) => (redis = started));

it.each(KINDS)(
  'a Redis that restarts empty: holders are notified, and waiters are served: $kind',
  async ({ options }) => {
    const [one, other] = [
      await locks.start(redis.url, { renewedLease: LEASE }),
      await locks.start(redis.url, { renewedLease: LEASE }),
    ];
    const held = await one.acquire('a', options);
    const fixed = await one.acquire('fixed', { ...options, expire: '30s' });
    const waiting = other.acquire('a', { kind: 'write', waitTimeout: '30s' });
    await eventually(async () => (await redis.admin.zcard(redisKey('queue', 'a'))) === 1);
    const lost = abortOf(held.signal);
    await redis.restart({ empty: true });
    const back = performance.now();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
    // Renewals are sent every third of a lease, and the first answer reports the loss.
    expect((await lost) - back).toBeLessThan(LEASE);
    expect(held.isHeld).toBe(false);
    expect(await held.release()).toBe(false);
    await expect(fixed.verify()).rejects.toMatchObject({ code: 'LOCK_LOST' });
    await next.verify();
    expect(await next.release()).toBe(true);
    await nothingLeftBehind(redis);
  },
);
