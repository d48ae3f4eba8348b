import { describe, expect, it } from '@jest/globals';
import { redisKey } from '../../../lab/testbed/locks/fault-locks.js';
import { timed } from '../../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import type { RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { RunningTime } from '../../../lab/testbed/wait/running-time.mjs';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);

describe('a handoff', () => {
  it('keeps the order after a master has come back empty', async () => {
    const services = await bench.serviceList(6);
    const lock = await services[0]!.acquire('a');
    const order: number[] = [];
    const waiting = [];
    for (const [i, service] of services.slice(1).entries()) {
      waiting.push(
        service.acquire('a').then(async (next) => {
          order.push(i);
          await next.release();
        }),
      );
      await bench.untilWaiting('a', i + 1);
    }
    const [emptied] = bench.masters as [RedisServer];
    const connections = async () =>
      String(await emptied.admin.client('LIST'))
        .trim()
        .split('\n').length;
    const before = await connections();
    await emptied.restart({ empty: true });
    await eventually(async () => (await connections()) >= before, { what: 'clients that are connected again' });
    const time = new RunningTime();
    await lock.release();
    await Promise.all(waiting);
    const { ran } = time.stop();
    process.stdout.write(`5 handoffs with a master that was empty: ${ran.toFixed(0)} ms\n`);
    expect(ran).toBeLessThan(1_500);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    await bench.untilNothingIsLeft();
  });

  it('survives a master that loses all data during many handoffs', async () => {
    const services = await bench.serviceList(6);
    let [inside, most, done] = [0, 0, 0];
    const holdersOf = async ({ admin }: RedisServer) => (await admin.hkeys(redisKey('state', 'a'))).join();
    // The two that keep their data both know the hold, so it still has a majority.
    const forget = async (): Promise<void> => {
      const holders = await Promise.all(bench.masters.map(holdersOf));
      const forgetful = bench.masters.find((_, place) => {
        const [one, other] = holders.filter((_, i) => i !== place);
        return one !== '' && one === other;
      });
      await forgetful!.admin.flushall();
    };
    const work = services.map(async (service) => {
      for (let i = 0; i < 20; i += 1) {
        await service.run('a', async () => {
          most = Math.max(most, ++inside);
          await (++done % 12 === 0 ? forget() : new Promise((resolve) => setTimeout(resolve, 2)));
          inside -= 1;
        });
      }
    });
    await Promise.all(work);
    expect([most, done]).toEqual([1, 120]);
    await bench.untilNothingIsLeft();
  });
});

describe('a master whose replies get lost', () => {
  it('does not duplicate, leak or delay a lock', async () => {
    const proxy = bench.endLater(await RespProxy.start(bench.masters[0]!));
    const connection = [proxy.url, ...bench.urls.slice(1)];
    const services = await bench.serviceList(3, { connection, commandTimeout: 3_000 });
    let inside = 0;
    for (let n = 1; n <= 8; n += 1) {
      proxy.cutAfterCommand({ names: ['evalsha', 'eval'], nth: n });
      await Promise.all(
        services.map((service) =>
          service.run('a', async () => {
            expect(++inside).toBe(1);
            await new Promise((resolve) => setTimeout(resolve, 1));
            inside -= 1;
          }),
        ),
      );
    }
    await bench.untilNothingIsLeft();
  });

  it('keeps a lock even if only its requests arrive', async () => {
    const proxy = bench.endLater(await RespProxy.start(bench.masters[0]!));
    const connection = [proxy.url, ...bench.urls.slice(1)];
    const [one, other] = await bench.serviceList(2, { connection, commandTimeout: 3_000 });
    proxy.dropReplies();
    const lock = await one!.acquire('a');
    const waiting = other!.acquire('a');
    await bench.untilWaiting('a', 1, bench.masters.slice(1));
    const { ran } = await timed(() => lock.release().then(() => waiting));
    expect(ran).toBeLessThan(1_500);
    await (await waiting).release();
    proxy.heal();
    await bench.untilNothingIsLeft();
  });
});
