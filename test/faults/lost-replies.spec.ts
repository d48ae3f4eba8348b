import { createHash } from 'node:crypto';
import { keysWithTtl } from '../../lab/testbed/history/leaks.mjs';
import { LockBench, RespProxy } from '../../lab/testbed/locks/locks.js';
import { playWithEachFault, playWithFault } from '../../lab/testbed/locks/lock-scenario.js';
import { type Fault } from '../../lab/testbed/proxies/resp-proxy.mjs';

/** Scenarios that are played at once. */
const AT_ONCE = 16;

const bench = new LockBench({ leavesNothing: true });

/** Plays the scenario with one fault, over a proxy and on a key of its own. */
async function play(key: string, setFault?: (proxy: RespProxy) => Fault) {
  await using proxy = await RespProxy.start(bench.redis);
  const scenario = { connection: proxy.url, key, observer: await bench.service() };
  return await playWithFault(scenario, proxy, setFault?.(proxy));
}

it.each<[string, (proxy: RespProxy, n: number) => Fault]>([
  ['the reply to the n-th command is lost', (proxy, n) => proxy.cutAfterCommand(n)],
  ['the n-th command itself is lost', (proxy, n) => proxy.cutBeforeCommand(n)],
  ['bytes that are no reply stand in place of the reply to the n-th command', (proxy, n) => proxy.garbleReply(n)],
])('continues normally if %s, for every n', async (_, faultOf) => {
  // The first time the server does not know the scripts, which takes some commands more.
  const plain = [await play('plain:1'), await play('plain:2')];
  expect(plain.map(({ error }) => error)).toEqual([undefined, undefined]);
  const sent = plain[1]!.commands.length;
  // Connecting and subscribing, twice two times, and the scripts of the scenario.
  expect(sent).toBeGreaterThan(25);
  await playWithEachFault(sent, AT_ONCE, (n) => play(`n:${n}`, (proxy) => faultOf(proxy, n)));
  expect(await keysWithTtl(bench.redis.admin, 'lock:tombstones:*')).not.toEqual([]);
});

it('handles an empty script cache in every command', async () => {
  const proxy = await bench.proxy();
  const observer = await bench.service();
  // The flush goes out before the command: it is sent while the command still waits in the proxy.
  proxy.delay({ request: 5 });
  const called: string[] = [];
  const sentAsText: string[] = [];
  proxy.onCommand(({ name, args: [script = ''] }) => {
    if (name === 'eval') sentAsText.push(createHash('sha1').update(script).digest('hex'));
    if (name !== 'evalsha') return;
    called.push(script);
    void bench.redis.admin.script('FLUSH', 'SYNC');
  });
  const { error } = await playWithFault({ connection: proxy.url, key: 'a', observer }, proxy);
  expect(error).toBeUndefined();
  expect(called.length).toBeGreaterThanOrEqual(8);
  // Only where two clients call the same script within milliseconds does the text that one sends serve the other.
  expect(sentAsText.length).toBeGreaterThanOrEqual(called.length - 3);
  expect(sentAsText).toEqual(expect.arrayContaining([...new Set(called)]));
});

it('renews many locks if the server does not know the script', async () => {
  const { proxy, service } = await bench.proxied({ renewedLease: 4_500 });
  const handles = await Promise.all(Array.from({ length: 120 }, (_, i) => service.acquire(`many:${i}`)));
  await bench.redis.admin.script('FLUSH', 'SYNC');
  const flushed = performance.now();
  while (performance.now() - flushed < 4_000) {
    // No sleep of a guessed length: every renewal that is seen gets an empty cache as its next.
    await proxy.seen({ names: ['evalsha', 'eval'] });
    await bench.redis.admin.script('FLUSH', 'SYNC');
  }
  expect(handles.filter(({ isHeld }) => !isHeld)).toEqual([]);
  expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(handles.map(() => true));
});
