import { Section } from '../../../lab/testbed/locks/section.js';
import { timed, lockError } from '../../../lab/testbed/locks/locks.js';
import { RedlockBench } from './support.js';
import { isLockStoreError } from '../../../lib/errors/index.js';
import type { LockHandle, LockService } from 'nestjs-redis-locks';

const bench = new RedlockBench(5, { leavesNothing: true });
/** Short, so that requests that are given up do not make the tests slow; long enough to answer in on a busy machine. */
const commandTimeout = 1_000;
/** Long, to tell a call that waits for an absent master from a call that does not. */
const LONG = 6_000;

describe('five masters', () => {
  it('hold and hand off a lock with two of them frozen', async () => {
    const services = await bench.serviceList(2, { commandTimeout: LONG });
    const lock = await services[0].acquire('a');
    const next = services[1].acquire('a');
    await bench.untilWaiting('a', 1);
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.pause()));
    const { value: released, ran } = await timed(() => lock.release());
    expect(released).toBe(true);
    expect(ran).toBeLessThan(LONG / 2);
    const { value: second, ran: passing } = await timed(() => next);
    expect(passing).toBeLessThan(LONG / 2);
    expect(second!.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await second!.release()).toBe(true);
    await bench.untilNothingIsLeft(bench.masters.slice(2));
  });

  it('hold no lock with three of them down, and votes on the others are released', async () => {
    const service = await bench.service({ commandTimeout });
    await Promise.all(bench.masters.slice(0, 3).map((master) => master.kill()));
    for (const acquire of [() => service.tryAcquire('a'), () => service.acquire('a', { waitTimeout: 2_000 })]) {
      const { error, ran } = await timed<unknown>(acquire);
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true, key: 'a' });
      expect(error.message).toMatch(/^2 of 5 masters (answered|can be reached), but 3 are needed/);
      expect(ran).toBeLessThan(3 * commandTimeout);
    }
    await bench.untilNothingIsLeft(bench.masters.slice(3));
  });

  it('hold no lock with three of them frozen, and late grants are released when they resume', async () => {
    const service = await bench.service({ commandTimeout });
    await Promise.all(bench.masters.slice(0, 3).map((master) => master.pause()));
    const asked = timed(() => service.inspect('b'));
    const { error, ran } = await timed(() => service.acquire('a', { waitTimeout: 5_000 }));
    expect(error).toMatchObject({ code: 'LOCK_STORE', key: 'a' });
    expect((await asked).error).toMatchObject({ code: 'LOCK_STORE', key: 'b' });
    expect(ran).toBeLessThan(3 * commandTimeout);
    await bench.untilNothingIsLeft(bench.masters.slice(3));
    await Promise.all(bench.masters.slice(0, 3).map((master) => master.resume()));
    await bench.untilNothingIsLeft();
    const lock = await service.acquire('a', { waitTimeout: 5_000 });
    expect(await lock.release()).toBe(true);
  });

  it('start with two of them down, and not with three', async () => {
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.kill()));
    const { ran } = await timed(() => bench.service({ commandTimeout: LONG }));
    expect(ran).toBeLessThan(LONG / 2);
    await bench.masters[2]!.kill();
    await expect(bench.make({ commandTimeout: LONG / 2 }).start()).rejects.toEqual(
      lockError('LOCK_STORE', '2 of 5 masters answered'),
    );
  });
});

describe('several masters', () => {
  it('permits and latches are refused: a majority of servers for each hold says nothing of how many holds there are', async () => {
    const service = await bench.service();
    const refused = { code: 'LOCK_CONFIG', message: expect.stringMatching(/^Permits need one Redis that counts/) };
    expect(() => service.getSemaphore('a', { permits: 3 })).toThrow(expect.objectContaining(refused));
    await expect(service.acquire('a', { permits: 3 })).rejects.toMatchObject(refused);
    await expect(service.tryAcquire(['a', 'b'], { permits: 3 })).rejects.toMatchObject(refused);
    expect(() => service.getCountDownLatch('a')).toThrow(lockError('LOCK_CONFIG', /need one Redis.*Redlock.*forRoot/));
  });

  it('replicas are refused: in the defaults at the start, in a call before it asks for the lock', async () => {
    const refused = { code: 'LOCK_CONFIG', message: expect.stringContaining('take the place of replicas') };
    const make = (): unknown => bench.make({ defaults: { replicas: { min: 1 } } });
    expect(make).toThrow(expect.objectContaining(refused));
    const service = await bench.service();
    await expect(service.acquire('a', { replicas: { min: 1 } })).rejects.toMatchObject(refused);
    expect(await service.inspect('a')).toBeNull();
  });
});

async function commandsOf(): Promise<number> {
  const stats = await Promise.all(bench.masters.map((master) => master.commandStats()));
  return stats.reduce((sum, { evalsha = 0 }) => sum + evalsha, 0);
}

async function resetStats(): Promise<void> {
  await Promise.all(bench.masters.map((master) => master.resetCommandStats()));
}

/** One try. On a busy machine the masters may take longer than a try waits for them. */
const tryOnce = (service: LockService): Promise<LockHandle | null> =>
  service.tryAcquire('a').catch((error: unknown) => {
    if (isLockStoreError(error) && error.transient) return null;
    throw error;
  });

describe('many clients on several masters', () => {
  it('resolve split votes of waiters and single tries, while masters freeze and resume', async () => {
    const services = await bench.serviceList(8, { commandTimeout: 5_000 });
    const section = new Section();
    let expected = 0;
    const end = performance.now() + 4_000;
    const work = services.map(async (service, i) => {
      while (performance.now() < end) {
        const lock = i < 4 ? await service.acquire('a', { waitTimeout: 30_000 }) : await tryOnce(service);
        if (lock === null) {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
          continue;
        }
        await section.pass();
        expected += 1;
        await lock.release();
      }
    });
    for (let i = 0; i < 8; i += 1) {
      const frozen = [bench.masters[i % 5]!, bench.masters[(i + 2) % 5]!];
      await Promise.all(frozen.map((master) => master.pause()));
      await new Promise((resolve) => setTimeout(resolve, 300));
      await Promise.all(frozen.map((master) => master.resume()));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await Promise.all(work);
    expect(section).toMatchObject({ entries: expected, most: 1 });
  });

  it('wait for the leases of crashed rivals with few requests', async () => {
    const connection = bench.urls.slice(0, 3);
    const lease = 1_500;
    // As if two clients had died when each of them had reached one master.
    const dead = await Promise.all(connection.slice(0, 2).map((url) => bench.service({ connection: url })));
    const since = performance.now();
    await Promise.all(dead.map((service) => service.acquire('a', { expire: lease })));
    const services = await bench.serviceList(3, { connection });
    await resetStats();
    const section = new Section();
    await Promise.all(services.map((service) => service.run('a', () => section.pass())));
    expect(performance.now() - since).toBeGreaterThan(lease - 50);
    // After the lease they ask again within a second, one after the other.
    expect(performance.now() - since).toBeLessThan(lease + 5_000);
    expect(section).toMatchObject({ entries: 3, most: 1 });
    const perClient = (await commandsOf()) / 3;
    expect(perClient).toBeLessThan(100);
  });
});
