import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { eventuallyPasses } from '../../../lab/testbed/wait/eventually.mjs';
import { FaultLocks, timed } from '../../../lab/testbed/locks/fault-locks.js';
import { useSentinels } from '../../../lab/testbed/locks/fault-setups.js';
import type { RedisSentinels } from '../../../lab/testbed/servers/redis-sentinels.mjs';

/** How often it is closed, after up to so many ms: each time in another moment, of which some are bad ones. */
const CLOSINGS = 120;
const LATEST = 8;

let sentinels: RedisSentinels;
const locks = new FaultLocks();

useSentinels(locks, (started) => (sentinels = started));

it('a client that is closed while it connects leaves no connection to Sentinels, and no pending start', async () => {
  const starts: Array<ReturnType<typeof timed<void>>> = [];
  for (let i = 0; i < CLOSINGS; i++) {
    const service = locks.make(sentinels.connection);
    starts.push(timed(service.start()));
    await sleep((i * LATEST) / CLOSINGS);
    await service.close();
  }
  for (const { error, ran } of await Promise.all(starts)) {
    if (error !== undefined)
      expect(error).toMatchObject({ code: 'LOCK_STORE', message: expect.stringContaining('closed') });
    expect(ran).toBeLessThan(1_000);
  }
  await eventuallyPasses(async () => {
    const clients = String(await sentinels.watcher.admin.call('CLIENT', 'LIST', 'TYPE', 'PUBSUB'));
    expect(clients).toBe('');
  });
});
