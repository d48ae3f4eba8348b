import type { LockHandle } from '../../lib/service/handles/lock-handle.js';
import type { LockService } from '../../lib/service/lock.service.js';
import { SCRIPTS, type ScriptName } from '../../lib/store/redis/scripts.generated.js';
import { eventually, eventuallyPasses } from '../../lab/testbed/wait/eventually.mjs';
import { LockBench, timed } from '../../lab/testbed/locks/locks.js';
import type { CommandSelector, RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';

const bench = new LockBench();
/** A commandTimeout that a test waits for: longer than the machine holds up a process. */
const BRIEF = 700;

const runs = (...scripts: readonly ScriptName[]): CommandSelector => ({
  names: ['evalsha', 'eval'],
  where: ({ args }) => scripts.some((name) => args[0] === SCRIPTS[name].sha1 || args[0] === SCRIPTS[name].source),
});

/** An operator behind a proxy, and two others; the server knows the scripts. */
async function setUp(commandTimeout = 5_000) {
  const proxy = await bench.proxy();
  const operator = await bench.service({ connection: proxy.url, commandTimeout });
  const [one, other] = await bench.serviceList(2);
  await one!.forceRelease('warm');
  await one!.getSemaphore('warm', { permits: 1 }).setPermits(1);
  await one!.getSemaphore('warm', { permits: 1 }).addPermits(1);
  return { proxy, operator, one: one!, other: other! };
}

/** Holds requests from the first command of a script on. `stop` tells whether it was sent, and holds no more. */
function holdAt(proxy: RespProxy, script: ScriptName): { stop(): boolean } {
  let held = false;
  const stop = proxy.onCommand(({ name, args }) => {
    if (held || name !== 'evalsha' || args[0] !== SCRIPTS[script].sha1) return;
    held = true;
    proxy.holdRequests();
  });
  return {
    stop: () => {
      stop();
      return held;
    },
  };
}

/** Earlier commands of this client have been executed, then. On a busy machine an answer may come after its time. */
const untilAnswered = (service: LockService, key: string): Promise<void> =>
  eventuallyPasses(async () => {
    await service.inspect(key);
  });

describe('forceRelease', () => {
  it('ends no later hold if it is sent again after a lost reply', async () => {
    const { proxy, operator, one, other } = await setUp();
    const first = await one.acquire('a');
    const waiting = other.acquire('a');
    await bench.untilWaiting('a', 1);
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

  it('ends more readers than one command names, and grants the waiting writer', async () => {
    const { operator, one, other } = await setUp();
    const readers: LockHandle[] = [];
    // Each of them costs Redis a look at all others, so they come a few at a time.
    while (readers.length < 600) {
      readers.push(
        ...(await Promise.all(Array.from({ length: 50 }, () => one.acquire('a', { kind: 'read', fair: true })))),
      );
    }
    const writing = other.acquire('a');
    await bench.untilWaiting('a', 1);
    expect(await operator.forceRelease('a')).toBe(true);
    const writer = await writing;
    await eventually(() => readers.every(({ signal }) => signal.aborted));
    await writer.release();
    expect(await operator.forceRelease('a')).toBe(false);
  });
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

describe('addPermits', () => {
  it.each(['cutAfterCommand', 'cutBeforeCommand', 'cutWithinReply'] as const)(
    'counts once if it is sent again: %s',
    async (fault) => {
      const { proxy, operator, one } = await setUp();
      const [far, near] = [operator, one].map((service) => service.getSemaphore('s', { permits: 2 }));
      await far!.addPermits(1);
      const cut = proxy[fault](runs('addLimit'));
      proxy.refuse();
      const adding = far!.addPermits(5);
      await cut.happened;
      expect(await near!.addPermits(10)).toBe(fault === 'cutBeforeCommand' ? 13 : 18);
      await proxy.accept();
      expect(await adding).toBe(18);
      expect(await near!.getPermits()).toBe(18);
    },
  );

  it('has no effect if it reaches Redis after its time', async () => {
    const { proxy, operator, one } = await setUp(BRIEF);
    const [far, near] = [operator, one].map((service) => service.getSemaphore('s', { permits: 2 }));
    const held = holdAt(proxy, 'addLimit');
    expect((await timed(() => far!.addPermits(5))).error).toMatchObject({ code: 'LOCK_STORE', transient: true });
    expect(held.stop()).toBe(true);
    const since = await serverTime();
    await eventually(async () => (await serverTime()) - since > 5 * BRIEF);
    proxy.heal();
    await untilAnswered(operator, 's');
    expect(await near!.getPermits()).toBe(2);
    expect(await near!.addPermits(1)).toBe(3);
  });
});

describe('the release of some permits', () => {
  it('reports a handle that Redis does not know any more as lost', async () => {
    const { operator } = await setUp();
    const handle = await operator.getSemaphore('s', { permits: 5 }).acquire(5);
    await bench.redis.admin.flushall();
    expect((await timed(() => handle.releaseUnits(2))).error).toMatchObject({ code: 'LOCK_LOST' });
    expect(handle.signal.aborted).toBe(true);
  });
});

async function serverTime(): Promise<number> {
  const [seconds, micros] = await bench.redis.admin.time();
  return Number(seconds) * 1_000 + Number(micros) / 1_000;
}
