import { expect, it } from '@jest/globals';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { FaultLocks, nothingLeftBehind, timed } from '../../lab/testbed/locks/fault-locks.js';
import { useRedis } from '../../lab/testbed/locks/fault-setups.js';
import { leaveBeforeComing, playLockScenario } from '../../lab/testbed/locks/lock-scenario.js';
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

async function playWithEvery(faultOf: (proxy: RespProxy, n: number) => Fault): Promise<void> {
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
}

it('continues normally if the reply to the n-th command is lost, for every n', async () => {
  await playWithEvery((proxy, n) => proxy.cutAfterCommand(n));
});

it('continues normally if the connection ends in the middle of the n-th reply, for every n', async () => {
  await playWithEvery((proxy, n) => proxy.cutWithinReply(n));
});

it('continues normally if the n-th command itself is lost, for every n', async () => {
  await playWithEvery((proxy, n) => proxy.cutBeforeCommand(n));
});

it('an acquire that arrives after its acquisition was abandoned holds nothing', async () => {
  await leaveBeforeComing(redis, redis.url);
  await nothingLeftBehind(redis);
});
