import { expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { FaultLocks, nothingLeftBehind, timed } from '../../lab/testbed/locks/fault-locks.js';
import { useRedis } from '../../lab/testbed/locks/fault-setups.js';
import { playLockScenario } from '../../lab/testbed/locks/lock-scenario.js';
import { RespProxy, type Fault } from '../../lab/testbed/proxies/resp-proxy.mjs';

/** Scenarios mostly wait, so several are played at once, each over a proxy and on a key of its own. */
const AT_ONCE = 16;

let redis: RedisServer;
const locks = new FaultLocks();

useRedis(locks, (started) => (redis = started));

/**
 * Plays the scenario with one fault, and returns the failure, if there is one, and the command that the fault affected.
 */
async function play(key: string, setFault?: (proxy: RespProxy) => Fault) {
  await using proxy = await RespProxy.start(redis);
  const observer = await locks.start(redis.url);
  const fault = setFault?.(proxy);
  let hit: string | undefined;
  void fault?.happened.then(({ name, args }) => (hit = `${name} ${args[0] ?? ''}`));
  const own = new FaultLocks();
  const { error } = await timed(playLockScenario(own, { connection: proxy.url, key, observer }));
  fault?.cancel();
  const sent = proxy.commands.length;
  await own.closeAll();
  return { sent, hit, error };
}

it.each<[string, (proxy: RespProxy, n: number) => Fault]>([
  ['the reply to the n-th command is lost', (proxy, n) => proxy.cutAfterCommand(n)],
  ['the n-th command itself is lost', (proxy, n) => proxy.cutBeforeCommand(n)],
])('continues normally if %s, for every n', async (_, faultOf) => {
  // The first time the server does not know the scripts, which takes some commands more.
  const plain = [await play('plain:1'), await play('plain:2')];
  expect(plain.map(({ error }) => error)).toEqual([undefined, undefined]);
  const sent = plain[1]!.sent;
  // Connecting and subscribing, twice two times, and the scripts of the scenario.
  expect(sent).toBeGreaterThan(25);

  const failures: string[] = [];
  let missed = 0;
  const left = Array.from({ length: sent }, (_, i) => i + 1);
  const player = async (): Promise<void> => {
    for (let n = left.shift(); n !== undefined; n = left.shift()) {
      const { hit, error } = await play(`n:${n}`, (proxy) => faultOf(proxy, n));
      if (hit === undefined) missed += 1;
      if (error !== undefined) failures.push(`command ${n} (${hit}): ${error.message}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, player));
  expect(failures).toEqual([]);
  // How often a waiter asks again is a matter of milliseconds, so the last numbers may not be reached every time.
  expect(missed).toBeLessThanOrEqual(2);
  await nothingLeftBehind(redis);
});

it('handles an empty script cache in every command', async () => {
  await using proxy = await RespProxy.start(redis);
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
  await using proxy = await RespProxy.start(redis);
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
