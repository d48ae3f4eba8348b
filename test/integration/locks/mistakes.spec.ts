import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { ProxiedCommand } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { countReachable } from '../../../lab/testbed/history/reachable.js';
import { AT_ONCE, inTurn, LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const isScript = ({ name }: ProxiedCommand): boolean => name === 'evalsha' || name === 'eval';

describe('renewal and release', () => {
  // Long enough not to be lost when the machine is busy, short enough for many renewals.
  const options = { renewedLease: 1_000 };

  it('never renew a lock after its release, or after its wait was given up', async () => {
    const [service, other] = [await bench.service(options), await bench.service(options)];
    await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const key = `key:${i % 40}`;
        const controller = new AbortController();
        const acquisition = (i % 2 === 0 ? service : other).acquire(key, { signal: controller.signal });
        setTimeout(() => controller.abort(), Math.random() * 40);
        const lock = await acquisition.catch(() => undefined);
        await sleep(Math.random() * 40);
        await lock?.release();
      }),
    );
    await bench.untilNothingIsLeft();
    await bench.redis.resetCommandStats();
    await sleep(450); // more than from one renewal to the next
    expect((await bench.redis.commandStats())['evalsha']).toBeUndefined();
  });

  it('end both if a release crosses a renewal', async () => {
    const proxy = await bench.proxy();
    const service = await bench.service({ ...options, connection: proxy.url });
    for (let round = 0; round < 5; round++) {
      const lock = await service.acquire('a');
      const renewal = proxy.seen((command) => isScript(command) && command.args[1] === '1');
      proxy.delay({ request: 5, reply: 5 });
      await renewal;
      expect(await lock.release()).toBe(true);
      proxy.delay({});
      expect(await bench.redis.admin.exists('lock:state:{a}')).toBe(0);
    }
    await bench.redis.resetCommandStats();
    await sleep(450); // more than from one renewal to the next
    expect((await bench.redis.commandStats())['evalsha']).toBeUndefined();
  });
});

describe('a lock that is granted late', () => {
  it('has its whole lease after a wait that was longer than the lease', async () => {
    const [holder, waiter] = await bench.serviceList(2);
    const lock = await holder!.acquire('a');
    const acquisition = waiter!.acquire('a', { expire: 1_000 });
    await bench.untilWaiting('a', 1);
    await sleep(1_100);
    await lock.release();
    const late = await acquisition;
    expect(late.remainingTime()).toBeGreaterThan(1_000 - AT_ONCE);
    await late.verify();
  });
});

describe('many keys, one after the other', () => {
  it('leave nothing behind in the process', async () => {
    const [service, other] = [await bench.service(), await bench.service()];
    const use = async (from: number) => {
      for (let i = from; i < from + 400; i++) {
        const key = `key:${i}`;
        await service.run(key, () =>
          service
            .getLock(key)
            .lock()
            .then((lock) => lock.release()),
        );
        await service.run(key, () => undefined, { owner: `owner:${i}`, holdAtLeast: 1 });
      }
      const contended = async (i: number) => {
        const lock = await other.acquire(`contended:${i}`);
        const waits = [
          service.run(lock.key, () => undefined),
          service.run(lock.key, () => undefined, { waitTimeout: 5 }),
        ];
        await lock.release();
        await Promise.allSettled(waits);
      };
      await inTurn(40, (i) => contended(from + i));
    };
    await use(0);
    const before = countReachable(service);
    await use(1_000);
    await use(2_000);
    expect(countReachable(service) - before).toBeLessThan(200); // for 1760 more acquisitions
  });
});
