import { beforeEach, describe, expect, it } from '@jest/globals';
import { RedisStore } from '../../../lib/store/redis/redis-store.js';
import { useRedis } from '../../../lab/testbed/locks/fault-setups.js';
import type { RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

const quiet = { debug() {}, log() {}, warn() {}, error() {} };

let redis: RedisServer;
let store: RedisStore;

useRedis({ closeAll: () => store.close() }, (started) => (redis = started));
beforeEach(async () => {
  store = new RedisStore({ connection: redis.url, keyPrefix: 'lock', commandTimeout: 2_000, clientId: 'me' }, quiet);
  await store.start();
});

/** Reinstates a hold whose lease ends `from` ms from now, by the clock of the server, at the latest. */
async function reinstate(from: number) {
  const [seconds, micros] = await redis.admin.time();
  const latest = Math.floor(Number(seconds) * 1_000 + Number(micros) / 1_000) + from;
  const hold = { key: 'a', id: 'me:1', mode: { kind: 'exclusive' }, owner: undefined, token: 1, batchSize: 1 } as const;
  return store.reinstate({ ...hold, lease: 60_000, latest });
}

describe('a vote that is taken again late', () => {
  it('lasts no longer than the lease', async () => {
    expect(await reinstate(30_000)).toBe('held');
    const { holds } = await store.inspect('a');
    expect(holds).toHaveLength(1);
    expect(holds[0]!.ttl).toBeGreaterThan(0);
    expect(holds[0]!.ttl).toBeLessThanOrEqual(30_000);
  });

  it('is refused after the lease', async () => {
    expect(await reinstate(-1)).toBe('missing');
    expect((await store.inspect('a')).holds).toEqual([]);
  });
});
