import { AT_ONCE, expectHandoff, LockBench, record, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('a service that has not been started', () => {
  it('locks nevertheless: sections never overlap, and waiters are served', async () => {
    const services = [bench.make(), bench.make()];
    let [running, most, served] = [0, 0, 0];
    const section = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await bench.redis.admin.ping();
      running -= 1;
      served += 1;
    };
    const options = { expire: 600, waitTimeout: 8_000 };
    await Promise.all(Array.from({ length: 6 }, (_, i) => services[i % 2]!.run('a', section, options)));
    expect({ most, served }).toEqual({ most: 1, served: 6 });
    expect(await services[0]!.tryAcquire('b')).not.toBeNull();
    expect(await services[1]!.tryAcquire('b')).toBeNull();
  });

  it('serves a waiter by pushed grants once it is started', async () => {
    const [one, late] = [await bench.service(), bench.make()];
    const handle = await one.acquire('a');
    const events = record(late);
    const waiting = late.acquire('a');
    await eventually(() => events.some(({ type }) => type === 'contended'));
    await late.start();
    await bench.untilWaiting('a', 1);
    const since = performance.now();
    await expectHandoff(handle, waiting);
    expect(performance.now() - since).toBeLessThan(AT_ONCE);
  });
});
