import { describe, expect, it } from '@jest/globals';
import { RedlockBench } from '../integration/redlock/support.js';
import { eventually, throughout } from '../../lab/testbed/wait/eventually.mjs';
import { blockEventLoop, redisKey, startFaultWorker } from '../../lab/testbed/locks/fault-locks.js';
import { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';
import { expectHandoff } from '../../lab/testbed/locks/handoff.js';

const bench = new RedlockBench(3);
/** With leases of 30 s waiters ask by themselves after 3 s at the earliest: anything sooner came by other means. */
const SOON = 2_500;
const LEASE = 1_500;

describe('Redlock over three masters', () => {
  it('handles empty script caches on all masters in every command', async () => {
    const [one, other] = await bench.serviceList(2);
    const forget = (): Promise<unknown> => Promise.all(bench.masters.map(({ admin }) => admin.script('FLUSH', 'SYNC')));
    await forget();
    const lock = await one!.acquire('a');
    const waiting = other!.acquire('a');
    await bench.untilWaiting('a', 1);
    await forget();
    await lock.verify();
    await forget();
    await lock.extend('10s');
    await forget();
    const since = performance.now();
    expect(await lock.release()).toBe(true);
    const next = await waiting;
    expect(performance.now() - since).toBeLessThan(SOON);
    await forget();
    expect(await next.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('grants the lock to a waiter whose subscriptions were killed on all masters right before the release', async () => {
    const [one, other] = await bench.serviceList(2);
    const lock = await one!.acquire('a');
    const waiting = other!.acquire('a');
    await bench.untilWaiting('a', 1);
    await Promise.all(bench.masters.map(({ admin }) => admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')));
    const since = performance.now();
    expect(await lock.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
    expect(performance.now() - since).toBeLessThan(SOON);
    await bench.untilNothingIsLeft();
  });

  it('a holder that is stopped beyond its lease knows of the loss when it resumes, and its late release has no effect', async () => {
    const service = await bench.service();
    await using worker = await startFaultWorker({ connection: bench.urls, renewedLease: LEASE });
    await worker.call('acquire', 'mine', 'a');
    worker.pause();
    const next = await service.acquire('a', { waitTimeout: 4 * LEASE });
    blockEventLoop(100);
    worker.resume();
    expect(await worker.call('view', 'mine')).toMatchObject({ isHeld: false, assertHeld: 'LOCK_LOST', aborted: true });
    expect(await worker.call('release', 'mine')).toBe(false);
    await next.verify();
    expect(await next.release()).toBe(true);
  });

  it('a killed holder delays the next one by its lease at most', async () => {
    const service = await bench.service();
    await using worker = await startFaultWorker({ connection: bench.urls, renewedLease: LEASE });
    await worker.call('acquire', 'mine', 'a');
    const waiting = service.acquire('a', { waitTimeout: 4 * LEASE });
    await bench.untilWaiting('a', 1);
    const since = performance.now();
    await worker.kill();
    expect(await (await waiting).release()).toBe(true);
    expect(performance.now() - since).toBeLessThan(LEASE + SOON);
  });

  it('works with one master whose memory is full, and reports two', async () => {
    const service = await bench.service({ commandTimeout: 5_000 });
    const fill = ({ admin }: (typeof bench.masters)[number]): Promise<unknown> => admin.config('SET', 'maxmemory', '1');
    try {
      await fill(bench.masters[0]!);
      const lock = await service.acquire('a');
      expect(await bench.holding('a')).toEqual([false, true, true]);
      await fill(bench.masters[1]!);
      await lock.verify();
      expect(await lock.release()).toBe(true);
      // Two refusals decide it, so the third master is to have answered before they come.
      const full = bench.masters.slice(0, 2);
      await Promise.all(full.map((master) => master.pause()));
      const refused = service.acquire('b').catch((error: unknown) => error);
      await eventually(() => bench.masters[2]!.admin.exists(redisKey('state', 'b')));
      await Promise.all(full.map((master) => master.resume()));
      expect(await refused).toMatchObject({
        code: 'LOCK_STORE',
        message: expect.stringMatching(/1 of 3 masters answered.*out of memory/),
      });
    } finally {
      for (const { admin } of bench.masters) await admin.config('SET', 'maxmemory', '0');
    }
    await bench.untilNothingIsLeft();
  });

  it('works with foreign data at the key of one master, and leaves them unchanged', async () => {
    const service = await bench.service();
    const { admin } = bench.masters[1]!;
    await admin.set(redisKey('state', 'a'), 'foreign', 'EX', 60);
    const lock = await service.acquire('a');
    expect(await lock.release()).toBe(true);
    expect(await admin.get(redisKey('state', 'a'))).toBe('foreign');
    await admin.del(redisKey('state', 'a'));
  });

  it('does not wait for a master that crashes after its grant, before it accepts the token', async () => {
    const [dying, late] = [
      bench.endLater(await RespProxy.start(bench.masters[0]!)),
      bench.endLater(await RespProxy.start(bench.masters[2]!)),
    ];
    const connection = [dying.url, bench.masters[1]!.url, late.url];
    const service = await bench.service({ connection, commandTimeout: 5_000 });
    await service.run('warm', () => undefined);
    // Two masters grant it, and the first of them answers nothing any more; the third one takes its time.
    late.delay({ reply: 200 });
    let scripts = 0;
    dying.onCommand(({ name }) => {
      if (name === 'evalsha' && ++scripts === 2) dying.dropReplies();
    });
    const since = performance.now();
    const lock = await service.acquire('a');
    expect(performance.now() - since).toBeLessThan(SOON);
    expect(scripts).toBeGreaterThanOrEqual(2);
    expect(await lock.release()).toBe(true);
    dying.heal();
  });

  it('is not affected by a master that restarts empty after the longest lease', async () => {
    const [one, other] = await bench.serviceList(2, { renewedLease: LEASE });
    const lock = await one!.acquire('a');
    const waiting = other!.acquire('a', { waitTimeout: '30s' });
    await bench.untilWaiting('a', 1);
    await bench.masters[0]!.kill();
    await throughout(LEASE, () => lock.isHeld);
    await bench.masters[0]!.start();
    await lock.verify();
    expect(lock.isHeld).toBe(true);
    await eventually(async () => (await bench.waiting('a', bench.masters.slice(1))).every((count) => count === 1));
    await expectHandoff(lock, waiting, SOON);
  });
});
