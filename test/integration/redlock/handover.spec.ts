import { describe, expect, it } from '@jest/globals';
import type { LockHandle } from 'nestjs-redis-locks';
import { eventuallyPasses } from '../../../lab/testbed/wait/eventually.mjs';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);
const commandTimeout = 1_000;

describe('a handover on three masters', () => {
  it('needs no more than a majority, for the offer and for the adoption', async () => {
    const [one, other] = await bench.serviceList(2, { commandTimeout });
    const [first, second] = bench.masters;
    const lock = await one!.acquire('a');
    await bench.untilHeldByAll('a');
    await first!.kill();
    const text = await lock.handOver('1m');
    // On a busy machine a master may answer too late for one try.
    let adopted!: LockHandle;
    await eventuallyPasses(async () => {
      adopted = await other!.adopt(text);
    });
    expect(adopted.fencingToken).toBeGreaterThan(lock.fencingToken);
    await eventuallyPasses(() => expect(one!.adopt(text)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' }));
    await adopted.verify();
    expect(await adopted.release()).toBe(true);
    await bench.untilNothingIsLeft([second!, bench.masters[2]!]);
  });

  it('fails without a majority, and can be repeated with the votes that it has', async () => {
    const [one, other, third] = await bench.serviceList(3, { commandTimeout });
    const [, second, last] = bench.masters;
    const lock = await one!.acquire('a');
    await bench.untilHeldByAll('a');
    const text = await lock.handOver('1m');
    await Promise.all([second!.pause(), last!.pause()]);
    await expect(other!.adopt(text)).rejects.toMatchObject({ code: 'LOCK_STORE', transient: true });
    await Promise.all([second!.resume(), last!.resume()]);
    await eventuallyPasses(async () => expect((await third!.inspect('a'))?.holds).toBeGreaterThan(0));
    await expect(third!.adopt(text)).rejects.toMatchObject({ code: expect.stringMatching(/LOCK_(STORE|NOT_HELD)/) });
    await eventuallyPasses(async () => {
      const adopted = await other!.adopt(text);
      expect(adopted.fencingToken).toBeGreaterThan(lock.fencingToken);
      expect(await adopted.release()).toBe(true);
    });
  });
});
