import type { LockService } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { endAtOnce, LockBench, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench({ defaults: { protocol: redisson() } });
const CHANNEL = 'redisson_countdownlatch__channel__{parts}';

/** Waits for the latch, and resolves when the client has asked Redis about it and receives its messages. */
async function waitFor(locks: LockService): Promise<{ opened: Promise<boolean>; isOver: () => boolean }> {
  const before = await bench.calls();
  const opened = locks.getCountDownLatch('parts').await('60s');
  let over = false;
  opened.then(() => (over = true)).catch(() => undefined);
  await eventually(async () => (await bench.calls()) > before);
  await eventually(async () => (await bench.subscribers(CHANNEL)) > 0);
  return { opened, isOver: () => over };
}

describe('an RCountDownLatch', () => {
  it('is an integer without a TTL, which is deleted when it reaches 0', async () => {
    const latch = (await bench.service()).getCountDownLatch('parts');
    expect(await latch.trySetCount(2)).toBe(true);
    expect(await latch.trySetCount(5)).toBe(false);
    expect(await bench.redis.admin.get('parts')).toBe('2');
    expect(await bench.redis.admin.ttl('parts')).toBe(-1);
    expect(await latch.countDown()).toBe(1);
    expect(await latch.getCount()).toBe(1);
    expect(await latch.await(0)).toBe(false);
    expect(await latch.countDown()).toBe(0);
    expect(await bench.redis.admin.exists('parts')).toBe(0);
    expect(await latch.await()).toBe(true);
    expect(await latch.countDown()).toBe(0);
    expect(await bench.redis.admin.exists('parts')).toBe(0);
  });

  it('publishes 1 when it is set and 0 when it opens, on a channel that always has braces', async () => {
    const braces = 'redisson_countdownlatch__channel__{a{b}}';
    const messages = await bench.messages(CHANNEL, braces);
    const locks = await bench.service();
    for (const key of ['parts', 'a{b}']) {
      await locks.getCountDownLatch(key).trySetCount(1);
      await locks.getCountDownLatch(key).countDown();
    }
    await eventually(() => messages.length >= 4);
    expect(messages).toEqual([`${CHANNEL} 1`, `${CHANNEL} 0`, `${braces} 1`, `${braces} 0`]);
  });

  it.each(['Redisson', 'another client', 'the client itself'])('opens for waiters when %s counts to 0', async (who) => {
    const [locks, other] = await bench.pair();
    if (who === 'the client itself') await locks.getCountDownLatch('parts').trySetCount(1);
    else await bench.redis.admin.set('parts', 1);
    const [first, second] = [await waitFor(locks), locks.getCountDownLatch('parts').await()];
    expect(await locks.getCountDownLatch('parts').await(0)).toBe(false);
    expect(first.isOver()).toBe(false);
    const open = (): Promise<unknown> =>
      who === 'Redisson'
        ? bench.redis.admin.multi().del('parts').publish(CHANNEL, '0').exec()
        : (who === 'another client' ? other : locks).getCountDownLatch('parts').countDown();
    expect(await endAtOnce(Promise.all([first.opened, second]), open)).toEqual([true, true]);
  });

  it('does not open by a message about an earlier latch', async () => {
    const locks = await bench.service();
    await bench.redis.admin.set('parts', 1);
    const { opened, isOver } = await waitFor(locks);
    const before = await bench.calls();
    await bench.redis.admin.publish(CHANNEL, '0');
    await eventually(async () => (await bench.calls()) > before);
    expect(await locks.getCountDownLatch('parts').getCount()).toBe(1);
    expect(isOver()).toBe(false);
    await locks.getCountDownLatch('parts').countDown();
    expect(await opened).toBe(true);
  });

  it('opens for waiters that have lost the message', async () => {
    const locks = await bench.service();
    await bench.redis.admin.set('parts', 1);
    const { opened } = await waitFor(locks);
    await bench.redis.admin.del('parts');
    expect(await opened).toBe(true);
  });

  it('can be set again after it has opened, and the next wait is for the new one', async () => {
    const latch = (await bench.service()).getCountDownLatch('parts');
    for (let i = 0; i < 3; i++) {
      expect(await latch.trySetCount(1)).toBe(true);
      expect(await latch.await(20)).toBe(false);
      const waiting = latch.await();
      await latch.countDown();
      expect(await waiting).toBe(true);
    }
  });

  it.each(['trySetCount', 'countDown'] as const)('a lost reply to %s counts once', async (which) => {
    const proxy = await bench.proxy();
    const latch = (await bench.service({ connection: proxy.url, commandTimeout: 20_000 })).getCountDownLatch('parts');
    const cut = () => proxy.cutAfterCommand(({ name, args }) => name === 'evalsha' && args.includes('parts'));
    // The server knows the scripts: otherwise the command that is cut off has no effect.
    await latch.trySetCount(2);
    await latch.countDown();
    await latch.countDown();
    const happened = which === 'trySetCount' ? cut().happened : undefined;
    expect(await latch.trySetCount(3)).toBe(true);
    await happened;
    const counted = which === 'countDown' ? cut().happened : undefined;
    expect(await latch.countDown()).toBe(2);
    await counted;
    expect(await bench.redis.admin.get('parts')).toBe('2');
  });
});
