import { Section } from '../../../lab/testbed/locks/section.js';
import { AT_ONCE, expectHandoff, LockBench, record, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('a service that has not been started', () => {
  it('locks nevertheless: sections never overlap, and waiters are served', async () => {
    const services = [bench.make(), bench.make()];
    const section = new Section();
    const pass = () => section.pass(() => bench.redis.admin.ping());
    const options = { expire: 600, waitTimeout: 8_000 };
    await Promise.all(Array.from({ length: 6 }, (_, i) => services[i % 2]!.run('a', pass, options)));
    expect(section).toMatchObject({ most: 1, entries: 6 });
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
