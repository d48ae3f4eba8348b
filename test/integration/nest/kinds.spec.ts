import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { describe, expect, it } from '@jest/globals';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import { deferred, type Deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { NestBench } from './support.js';

const bench = new NestBench();
const FAR = '0 0 1 1 *';

/** The callers in each section: each stays until the test says so. */
class Inside {
  readonly names: string[] = [];
  readonly order: string[] = [];
  most = 0;
  private readonly ends = new Map<string, Deferred<void>>();

  async visit(name: string): Promise<string> {
    this.names.push(name);
    this.order.push(name);
    this.most = Math.max(this.most, this.names.length);
    const end = deferred();
    this.ends.set(name, end);
    await end;
    this.names.splice(this.names.indexOf(name), 1);
    return name;
  }

  leave(name: string): void {
    this.ends.get(name)!.resolve();
  }

  leaveAll(): void {
    for (const end of this.ends.values()) end.resolve();
  }

  async until(...names: string[]): Promise<void> {
    const sorted = [...names].sort().join(' ');
    await eventually(() => [...this.names].sort().join(' ') === sorted, { what: `${sorted || 'nobody'} inside` });
  }
}

let inside = new Inside();

@Injectable()
class Stock {
  @DistributedLock({ key: 'stock:#{#p0}', kind: 'read' })
  async read(_sku: string, name: string): Promise<string> {
    return inside.visit(name);
  }

  @DistributedLock({ key: 'stock:#{#p0}', kind: 'write' })
  async write(_sku: string, name: string): Promise<string> {
    return inside.visit(name);
  }

  @DistributedLock({ key: ['from:#{#p0}', 'to:#{#p1}'], waitTimeout: 0 })
  async transfer(_from: string, _to: string): Promise<string[]> {
    return [...currentLock().keys];
  }

  @DistributedLock({ key: (...skus: string[]) => skus.map((sku) => `sku:${sku}`) })
  async all(..._skus: string[]): Promise<ReadonlyMap<string, number>> {
    return currentLock().fencingTokens;
  }

  @DistributedLock({ key: 'heavy', permits: 5, units: 2, waitTimeout: 0 })
  async heavy(name: string): Promise<string> {
    return inside.visit(name);
  }

  @DistributedLock({ key: 'line', fair: true })
  async standInLine(name: string): Promise<string> {
    return inside.visit(name);
  }
}

/** So many applications that have it, as on so many machines. */
async function replicas(count: number): Promise<Stock[]> {
  inside = new Inside();
  return Promise.all(Array.from({ length: count }, () => bench.make(Stock)));
}

const untilQueued = (key: string, count: number): Promise<unknown> =>
  eventually(async () => (await bench.redis.admin.zcard(`lock:queue:{${key}}`)) === count);

describe('@DistributedLock of a kind', () => {
  it("kind: 'read' and 'write': runs readers of all replicas together, and the writer alone, in order", async () => {
    const [one, two, three] = await replicas(3);
    const calls = [one!.read('7', 'r1'), two!.read('7', 'r2')];
    await inside.until('r1', 'r2');
    calls.push(three!.write('7', 'w'));
    await untilQueued('stock:7', 1);
    calls.push(one!.read('7', 'r3'), two!.read('7', 'r4'));
    await untilQueued('stock:7', 3);
    // Another key is another lock.
    calls.push(one!.write('8', 'other'));
    await inside.until('r1', 'r2', 'other');
    inside.leave('r1');
    inside.leave('r2');
    await inside.until('w', 'other');
    inside.leave('w');
    await inside.until('r3', 'r4', 'other');
    inside.leaveAll();
    expect(await Promise.all(calls)).toEqual(['r1', 'r2', 'w', 'r3', 'r4', 'other']);
  });

  it('units: so many of the permits for each call', async () => {
    const stocks = await replicas(3);
    const calls = stocks.slice(0, 2).map((stock, i) => stock.heavy(`${i}`));
    await inside.until('0', '1');
    await expect(stocks[2]!.heavy('2')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    inside.leave('0');
    await calls[0];
    calls.push(stocks[2]!.heavy('2'));
    await inside.until('1', '2');
    inside.leaveAll();
    expect(await Promise.all(calls)).toEqual(['0', '1', '2']);
  });

  it('fair: runs calls in the order of arrival across replicas', async () => {
    const stocks = await replicas(3);
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const calls = [stocks[0]!.standInLine('first')];
    await inside.until('first');
    for (const [i, name] of names.entries()) {
      calls.push(stocks[Math.floor(i / 3)]!.standInLine(name));
      await untilQueued('line', i + 1);
    }
    for (const name of ['first', ...names]) {
      await inside.until(name);
      inside.leave(name);
    }
    await Promise.all(calls);
    expect(inside.order).toEqual(['first', ...names]);
  });

  it('a list of keys: acquires all or none, and currentLock() has them', async () => {
    const [one] = await replicas(1);
    expect(await one!.transfer('a', 'b')).toEqual(['from:a', 'to:b']);
    const taken = await bench.occupy('to:b');
    await expect(one!.transfer('a', 'b')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(await bench.redis.admin.exists('lock:state:{from:a}')).toBe(0);
    await taken.release();
    expect(await one!.transfer('a', 'b')).toEqual(['from:a', 'to:b']);
    await expect(one!.transfer('a', '')).rejects.toMatchObject({ code: 'LOCK_KEY' });
  });

  it('a key function that returns a list', async () => {
    const [one] = await replicas(1);
    const tokens = await one!.all('1', '2', '1');
    expect([...tokens.keys()]).toEqual(['sku:1', 'sku:2']);
    await expect(one!.all()).rejects.toMatchObject({ code: 'LOCK_KEY', message: expect.stringContaining('Stock.all') });
  });

  it.each([
    ['kind and permits', { key: 'a', kind: 'read', permits: 2 }, /kind and permits do not go together/],
    ['an unknown kind', { key: 'a', kind: 'shared' }, /write 'exclusive', 'read' or 'write'/],
    ['a kind without a text', { key: 'a', kind: Object.create(null) }, /kind is an object; write 'exclusive'/],
    ["kind: 'fair'", { key: 'a', kind: 'fair' }, /fair: true/],
    ['no permits', { key: 'a', permits: 0 }, /permits/],
    ['units without permits', { key: 'a', units: 2 }, /units \(2\) .*write { permits: 5, units: 2 }/],
    ['more units than permits', { key: 'a', permits: 5, units: 6 }, /6 permits of 5 can never be granted/],
    ['fair as a text', { key: 'a', fair: 'yes' }, /fair/],
    ['an empty list', { key: [] }, /list of keys is empty/],
    ['a list with an empty key', { key: ['a', ''] }, /key/],
    ['replicas without min', { key: 'a', replicas: {} }, /replicas\.min/],
    ['replicas of none', { key: 'a', replicas: { min: 0 } }, /replicas\.min/],
  ])('%s stops the application before it starts', (_what, options, message) => {
    expect(() => {
      class Wrong {
        @DistributedLock(options as never)
        async work(): Promise<void> {}
      }
      return Wrong;
    }).toThrow(message);
  });
});

it('a @Cron job of 5 ms with holdAtLeast runs once on three replicas, though their clocks differ', async () => {
  let runs = 0;
  @Injectable()
  class Nightly {
    @Cron(FAR, { name: 'nightly' })
    @DistributedLock({ key: 'nightly', holdAtLeast: '5s', onContended: 'skip' })
    async run(): Promise<void> {
      runs += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  const apps = await Promise.all(
    [1, 2, 3].map(() => bench.boot({ imports: [ScheduleModule.forRoot()], providers: [Nightly] })),
  );
  const jobs = apps.map((app) => app.get(SchedulerRegistry).getCronJob('nightly'));
  // One after the other, each done before the next one begins.
  for (const job of jobs) await job.fireOnTick();
  await Promise.all(jobs.map((job) => job.fireOnTick()));
  await Promise.all(apps.map((app) => app.get(Nightly).run()));
  expect(runs).toBe(1);
});
