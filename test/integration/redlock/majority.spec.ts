import { describe, expect, it } from '@jest/globals';
import { timed } from '../../../lab/testbed/locks/locks.js';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(5);
/** Short, so that requests that are given up do not make the tests slow; long enough to answer in on a busy machine. */
const commandTimeout = 1_000;
/** Long, to tell a call that waits for an absent master from a call that does not. */
const LONG = 6_000;

describe('five masters', () => {
  it('hold and hand off a lock with two of them frozen', async () => {
    const services = await bench.serviceList(2, { commandTimeout: LONG });
    const lock = await services[0]!.acquire('a');
    const next = services[1]!.acquire('a');
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
    await expect(bench.make({ commandTimeout: LONG / 2 }).start()).rejects.toMatchObject({
      code: 'LOCK_STORE',
      message: expect.stringContaining('2 of 5 masters answered'),
    });
  });
});

describe('several masters', () => {
  it('permits are refused: a majority of servers for each hold says nothing of how many holds there are', async () => {
    const service = await bench.service();
    const refused = { code: 'LOCK_CONFIG', message: expect.stringMatching(/^Permits need one Redis that counts/) };
    expect(() => service.getSemaphore('a', { permits: 3 })).toThrow(expect.objectContaining(refused));
    await expect(service.acquire('a', { permits: 3 })).rejects.toMatchObject(refused);
    await expect(service.tryAcquire(['a', 'b'], { permits: 3 })).rejects.toMatchObject(refused);
    await bench.untilNothingIsLeft();
  });
});
