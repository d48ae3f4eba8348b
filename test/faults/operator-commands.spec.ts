import { SCRIPTS, type ScriptName } from '../../lib/store/redis/scripts.generated.js';
import { LockBench, timed, eventually } from '../../lab/testbed/locks/locks.js';
import type { CommandSelector } from '../../lab/testbed/proxies/resp-proxy.mjs';

const bench = new LockBench();
/** A commandTimeout that a test waits for: longer than the machine holds up a process. */
const BRIEF = 700;

const runs = (name: ScriptName): CommandSelector => ({
  names: ['evalsha', 'eval'],
  where: ({ args }) => args[0] === SCRIPTS[name].sha1 || args[0] === SCRIPTS[name].source,
});

/** An operator behind a proxy, and two others; the server knows the scripts. */
async function setUp(commandTimeout = 5_000) {
  const { proxy, service: operator } = await bench.proxied({ commandTimeout });
  const [one, other] = await bench.pair();
  await one.forceRelease('warm');
  await one.getSemaphore('warm', { permits: 1 }).setPermits(1);
  await one.getSemaphore('warm', { permits: 1 }).addPermits(1);
  return { proxy, operator, one, other };
}

it('forceRelease ends no later hold if it is sent again after a lost reply', async () => {
  const { proxy, operator, one, other } = await setUp();
  const { lock: first, waiting } = await bench.contended(one, other);
  const executed = proxy.cutAfterCommand(runs('forceRelease'));
  proxy.refuse();
  const releasing = operator.forceRelease('a');
  await executed.happened;
  const next = await waiting;
  await eventually(() => first.signal.aborted);
  await proxy.accept();
  expect(await releasing).toBe(true);
  await next.verify();
  expect(next.isHeld).toBe(true);
  expect(await next.release()).toBe(true);
});

describe('setPermits', () => {
  it.each(['cutAfterCommand', 'cutBeforeCommand'] as const)(
    'does not undo a later setPermits if it is sent again: %s',
    async (fault) => {
      const { proxy, operator, one } = await setUp();
      const [far, near] = [operator, one].map((service) => service.getSemaphore('s', { permits: 1 }));
      await near!.setPermits(1);
      const cut = proxy[fault](runs('setLimit'));
      proxy.refuse();
      const setting = far!.setPermits(9);
      await cut.happened;
      await near!.setPermits(3);
      await proxy.accept();
      await setting;
      expect(await near!.getPermits()).toBe(3);
    },
  );

  it('takes effect if its first reply is lost and no other call has set the number', async () => {
    const { proxy, operator, one } = await setUp();
    const cut = proxy.cutAfterCommand(runs('setLimit'));
    await operator.getSemaphore('s', { permits: 1 }).setPermits(7);
    await cut.happened;
    expect(await one.getSemaphore('s', { permits: 1 }).getPermits()).toBe(7);
  });
});

it('addPermits has no effect if it reaches Redis after its time', async () => {
  const { proxy, operator, one } = await setUp(BRIEF);
  const [far, near] = [operator, one].map((service) => service.getSemaphore('s', { permits: 2 }));
  let isHeld = false;
  const stop = proxy.onCommand(({ name, args }) => {
    if (isHeld || name !== 'evalsha' || args[0] !== SCRIPTS.addLimit.sha1) return;
    isHeld = true;
    proxy.holdRequests();
  });
  expect((await timed(() => far!.addPermits(5))).error).toMatchObject({ code: 'LOCK_STORE', transient: true });
  expect(isHeld).toBe(true);
  stop();
  const since = await bench.redis.time();
  await eventually(async () => (await bench.redis.time()) - since > 5 * BRIEF);
  proxy.heal();
  // Behind it. On a busy machine an answer may come after its time.
  await eventually(() => operator.inspect('s').then(() => true));
  expect(await near!.getPermits()).toBe(2);
  expect(await near!.addPermits(1)).toBe(3);
});
