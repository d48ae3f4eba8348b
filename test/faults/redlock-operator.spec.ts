import { RedlockBench } from '../integration/redlock/support.js';
import { SCRIPTS } from '../../lib/store/redis/scripts.generated.js';
import { timed, eventually, RespProxy } from '../../lab/testbed/locks/locks.js';
import type { CommandSelector } from '../../lab/testbed/proxies/resp-proxy.mjs';

const bench = new RedlockBench(3, { leavesNothing: true });
const { sha1, source } = SCRIPTS.forceRelease;
const ENDS: CommandSelector = {
  names: ['evalsha', 'eval'],
  where: ({ args }) => args[0] === sha1 || args[0] === source,
};

/** An operator that reaches each master through a proxy, and two others; the masters know the scripts. */
async function setUp(commandTimeout: number) {
  const proxies = await Promise.all(bench.masters.map(async (master) => bench.endLater(await RespProxy.start(master))));
  const operator = await bench.service({ connection: proxies.map(({ url }) => url), commandTimeout });
  const [one, other] = await bench.pair();
  const warm = await one.acquire('warm');
  await operator.forceRelease('warm');
  await eventually(() => warm.signal.aborted);
  return { proxies, operator, one: one, other: other };
}

it('a forced release whose replies are lost ends no later hold when it is sent again', async () => {
  const { proxies, operator, one, other } = await setUp(5_000);
  const first = await one.acquire('a');
  await bench.untilHeldByAll('a');
  const waiting = other.acquire('a');
  await bench.untilWaiting('a', 1);
  const cuts = proxies.map((proxy) => {
    const cut = proxy.cutAfterCommand(ENDS);
    proxy.refuse();
    return cut.happened;
  });
  const releasing = timed(operator.forceRelease('a'));
  await Promise.all(cuts);
  const next = await waiting;
  await eventually(() => first.signal.aborted);
  const before = proxies.map(({ commands }) => commands.filter(({ args }) => args[0] === sha1).length);
  await Promise.all(proxies.map((proxy) => proxy.accept()));
  await eventually(() =>
    proxies.every(({ commands }, i) => commands.filter(({ args }) => args[0] === sha1).length > before[i]!),
  );
  // A caller that gets an error is not told whether the hold was ended.
  const { value, error } = await releasing;
  expect([true, 'LOCK_STORE']).toContain(error?.code ?? value);
  await next.verify();
  expect(next.isHeld).toBe(true);
  expect(await next.release()).toBe(true);
});
