import type { LockService } from 'nestjs-redis-locks';
import { LockTesting } from 'nestjs-redis-locks/testing';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { filesOf, runPage, type Exports } from './documentation.js';

interface Payments {
  pay(orderId: string): Promise<string>;
}
interface Rates {
  rate(currency: string, compute: () => Promise<string>): Promise<string>;
}
interface Exporter {
  begin(id: number): Promise<string>;
  finish(id: number, handover: string, isRetry: boolean): Promise<void>;
}
interface Report {
  run(): Promise<string>;
}
interface Billing {
  bill(): Promise<boolean | undefined>;
}

type ClassOf<T> = new (...args: unknown[]) => T;

/** The classes of docs/recipes.md, as they stand there. */
describe('docs/recipes.md', () => {
  let redis: RedisServer;
  let exports: ReadonlyMap<string, Exports>;
  let testing: LockTesting;
  const classOf = <T>(file: string, name: string): ClassOf<T> => exports.get(file)![name] as ClassOf<T>;

  beforeAll(async () => {
    redis = await startRedis();
    exports = await runPage(filesOf('docs/recipes.md'), redis.url);
    testing = new LockTesting();
  });
  afterAll(async () => {
    await testing[Symbol.asyncDispose]();
    await redis.stop();
  });

  it('charges an order once, however often its request arrives', async () => {
    const stored = new Map<string, string>();
    const charged: string[] = [];
    const receipts = {
      find: async (id: string) => stored.get(id),
      insert: async (id: string, receipt: string) => void stored.set(id, receipt),
    };
    const provider = { charge: async (id: string) => `receipt ${charged.push(id)}` };
    const Service = classOf<Payments>('payments.service.ts', 'PaymentsService');
    const payments = testing.withLocks(new Service(receipts, provider));
    const answers = await Promise.all(Array.from({ length: 5 }, () => payments.pay('42')));
    expect(answers).toEqual(Array(5).fill('receipt 1'));
    expect(charged).toEqual(['42']);
  });

  it('computes a value once for all requests that arrive together', async () => {
    const locks: LockService = testing.service;
    const Service = classOf<Rates>('rates.service.ts', 'RatesService');
    const rates = new Service(locks, redis.admin);
    let computed = 0;
    const compute = async (): Promise<string> => `1.0${++computed}`;
    const answers = await Promise.all(Array.from({ length: 20 }, () => rates.rate('EUR', compute)));
    expect(new Set(answers)).toEqual(new Set(['1.01']));
    expect(computed).toBe(1);
  });

  it('continues an export in another process, and again after a failed job', async () => {
    const Service = classOf<Exporter>('export.service.ts', 'ExportService');
    const exporter = new Service(testing.service);
    const handover = await exporter.begin(7);
    expect(await testing.service.tryAcquire('export:7')).toBeNull();
    await exporter.finish(7, handover, false);
    await exporter.finish(7, handover, true);
    await expect(exporter.finish(7, handover, false)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
  });

  it('locks an inherited method by the name of the subclass', async () => {
    const report = testing.withLocks(new (classOf<Report>('jobs.ts', 'NightlyReport'))());
    expect(await report.run()).toBe('done');
    expect(testing.acquisitions.count('jobs:NightlyReport.run')).toBe(1);
  });
});

it('docs/cron-jobs.md bills a month once', async () => {
  await using testing = new LockTesting();
  const exports = await runPage(filesOf('docs/cron-jobs.md'), 'redis://127.0.0.1:6379');
  const Service = exports.get('billing.service.ts')!['BillingService'] as ClassOf<Billing>;
  const months = new Set<string>();
  const invoices = { write: async (month: string) => months.size < months.add(month).size };
  const replicas = [1, 2].map(() => testing.withLocks(new Service(invoices)));
  const billed = await Promise.all(replicas.map((replica) => replica.bill()));
  expect(billed).toEqual([true, false]);
  expect(months.size).toBe(1);
});
