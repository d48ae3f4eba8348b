import { expect, it } from '@jest/globals';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { cli } from '../integration/cli/cli.js';
import { readReport } from '../integration/cli/support.js';
import { besideRedisson, LATE } from './sides.js';

besideRedisson((sides) => {
  const on = (thread: string) => sides.java.on(thread);
  const doctor = async (key: string): Promise<string> => {
    const report = readReport(await cli(sides.redis.url, ['doctor', '--json', key]));
    return report.about('layout')[0]!.found;
  };
  const untilListening = (channel: string): Promise<unknown> =>
    eventually(async () => (await sides.subscribersOf(channel)) === 1, { within: LATE });

  it('doctor recognizes an RSemaphore by its waiters', async () => {
    await on('a')('semaphore.trySetPermits', 'pool', 1);
    expect(await doctor('pool')).toMatch(
      /an RSemaphore with 1 free permits, or an RCountDownLatch with the count 1, or/,
    );
    await on('a')('semaphore.acquire', 'pool');
    expect(await doctor('pool')).toMatch(/an RSemaphore with 0 free permits, or a number of another program/);
    const waiting = on('b')('semaphore.acquire', 'pool');
    await untilListening('redisson_sc:{pool}');
    expect(await doctor('pool')).toMatch(/Redisson only: .*a semaphore with 0 free permits, for which 1 client waits/);
    await on('a')('semaphore.release', 'pool');
    await waiting;
  });

  it('doctor recognizes an RPermitExpirableSemaphore by its permits', async () => {
    await on('a')('expirable.trySetPermits', 'pool', 2);
    await on('a')('expirable.acquire', 'pool');
    expect(await doctor('pool')).toMatch(
      /Redisson only: .*a semaphore with 1 free permits\. .*an RSemaphore has taken/,
    );
  });

  it('doctor recognizes an RCountDownLatch by its waiters', async () => {
    await on('a')('latch.trySetCount', 'parts', 2);
    const waiting = on('b')('latch.await', 'parts', LATE);
    await untilListening('redisson_countdownlatch__channel__{parts}');
    expect(await doctor('parts')).toMatch(
      /Redisson only: .*an RCountDownLatch with the count 2, for which 1 client waits/,
    );
    await on('a')('latch.countDown', 'parts', 2);
    expect(await waiting).toBe(true);
    expect(await doctor('parts')).toMatch(/is free/);
  });

  it.each([
    ['', 'a held RLock, RFairLock or RFencedLock'],
    ['write.', 'a held RReadWriteLock'],
  ])('doctor recognizes a lock (%s)', async (kind, name) => {
    await on('a')(`${kind}lock`, 'orders', -1);
    expect(await doctor('orders')).toMatch(new RegExp(`Redisson only: .* It is ${name}$`));
    await on('a')(`${kind}unlock`, 'orders');
  });
});
