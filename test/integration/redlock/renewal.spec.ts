import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, throughout } from '../../../lab/testbed/wait/eventually.mjs';
import { aborted, record, timed } from '../../../lab/testbed/locks/locks.js';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);
const lease = 1_000;
const options = { renewedLease: lease, commandTimeout: 700 };

describe('a renewal by a majority', () => {
  it('holds over 6 leases, while a master dies and comes back empty', async () => {
    // So long that renewals are in time on a busy machine, too.
    const renewedLease = 2_000;
    const [one, other] = await bench.serviceList(2, { ...options, renewedLease });
    const lock = await one!.acquire('a');
    const end = performance.now() + 6 * renewedLease;
    let misses = 0;
    const trying = (async () => {
      while (performance.now() < end) {
        const stolen = await other!.tryAcquire('a');
        if (stolen !== null) misses += 1;
        await sleep(20);
      }
    })();
    await sleep(renewedLease);
    await bench.masters[0]!.kill();
    await sleep(2 * renewedLease);
    await bench.masters[0]!.start();
    await trying;
    expect(misses).toBe(0);
    expect(lock.isHeld).toBe(true);
    await lock.verify();
    expect(await lock.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('is retried if a majority fails, and the lock is lost before its leases end', async () => {
    const service = await bench.service(options);
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.pause()));
    const { ran } = await timed(() => aborted(lock.signal));
    expect(ran).toBeLessThan(lease + 100);
    const release = await timed(() => lock.release());
    expect(release).toMatchObject({ value: false });
    expect(release.ran).toBeLessThan(options.commandTimeout - 100);
  });

  it('continues if a majority was frozen for less than a lease', async () => {
    const service = await bench.service({ ...options, renewedLease: 3_000 });
    const events = record(service);
    const renewals = (): number => events.filter(({ type }) => type === 'renewed').length;
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.pause()));
    const before = renewals();
    // One renewal has failed by then.
    await throughout(1_800, () => renewals() === before);
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.resume()));
    await eventually(() => renewals() >= before + 2 || !lock.isHeld);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });
});

describe('a release', () => {
  it('of an expired lock returns at once, and does not throw, even with masters down', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { expire: 100 });
    await Promise.all(bench.masters.map((master) => master.pause()));
    await eventually(() => !lock.isHeld);
    const release = await timed(() => lock.release());
    expect(release).toMatchObject({ value: false });
    // Half of the time that the masters would be given to answer.
    expect(release.ran).toBeLessThan(2_500);
  });
});
