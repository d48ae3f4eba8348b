import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { useProxiedRedis } from '../../lab/testbed/locks/fault-setups.js';
import { FaultLocks, nothingLeftBehind } from '../../lab/testbed/locks/fault-locks.js';
import { playLockScenario } from '../../lab/testbed/locks/lock-scenario.js';
import { type RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';

let redis: RedisServer;
let proxy: RespProxy;
const locks = new FaultLocks();

useProxiedRedis(locks, (...both) => ([redis, proxy] = both));

it('handles an empty script cache in every command', async () => {
  const observer = await locks.start(redis.url);
  // The flush goes out before the command: it is sent while the command still waits in the proxy.
  proxy.delay({ request: 5 });
  const called: string[] = [];
  const sentAsText: string[] = [];
  proxy.onCommand(({ name, args: [script = ''] }) => {
    if (name === 'eval') sentAsText.push(createHash('sha1').update(script).digest('hex'));
    if (name !== 'evalsha') return;
    called.push(script);
    void redis.admin.script('FLUSH', 'SYNC');
  });
  await playLockScenario(locks, { connection: proxy.url, key: 'a', observer });
  expect(called.length).toBeGreaterThanOrEqual(8);
  // Only where two clients call the same script within milliseconds does the text that one sends serve the other.
  expect(sentAsText.length).toBeGreaterThanOrEqual(called.length - 3);
  expect(sentAsText).toEqual(expect.arrayContaining([...new Set(called)]));
  await nothingLeftBehind(redis);
});

it('renews many locks if the server does not know the script', async () => {
  const service = await locks.start(proxy.url, { renewedLease: 4_500 });
  const handles = await Promise.all(Array.from({ length: 120 }, (_, i) => service.acquire(`many:${i}`)));
  await redis.admin.script('FLUSH', 'SYNC');
  const flushed = performance.now();
  while (performance.now() - flushed < 4_000) {
    // No sleep of a guessed length: every renewal that is seen gets an empty cache as its next.
    await proxy.seen({ names: ['evalsha', 'eval'] });
    await redis.admin.script('FLUSH', 'SYNC');
  }
  expect(handles.filter(({ isHeld }) => !isHeld)).toEqual([]);
  expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(handles.map(() => true));
});
