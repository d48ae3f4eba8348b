import { describe, expect, it } from '@jest/globals';
import type { LockHandle } from '../../lib/service/handles/lock-handle.js';
import type { LockService } from '../../lib/service/lock.service.js';
import type { AcquireOptions } from '../../lib/options/acquire-options.js';
import { aborted, LockBench } from '../../lab/testbed/locks/locks.js';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { RedlockBench } from '../integration/redlock/support.js';

const bench = new LockBench();
const STATE = 'lock:state:{a}';
const PATIENT = { waitTimeout: '20s' } as const;

/** A batch does not end by itself within a test. */
const LONG = { localHandoffTime: '30s', localHandoffs: 50 } as const;

/** Each of so many callers records that it holds the lock, and releases it. */
function queueUp(service: LockService, count: number, note: (lock: LockHandle) => unknown, options?: AcquireOptions) {
  return Array.from({ length: count }, async () => {
    const lock = await service.acquire('a', { ...PATIENT, ...options });
    await note(lock);
    expect(await lock.release()).toBe(true);
  });
}

async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  await bench.redis.resetCommandStats();
  await work();
  const { evalsha = 0, eval: byText = 0 } = await bench.redis.commandStats();
  return evalsha + byText;
}

describe('a batch of waiters in one process', () => {
  it('takes no commands while no other client waits, and each member gets a larger token', async () => {
    const service = await bench.service({ localHandoffTime: '30s' });
    await (await service.acquire('a')).release(); // Redis knows the scripts now
    const tokens: number[] = [];
    const commands = await commandsOf(() =>
      Promise.all(queueUp(service, 800, (lock) => tokens.push(lock.fencingToken))),
    );
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(tokens).toHaveLength(800);
    // One to acquire, if no caller was behind the first; one after as many holders as localHandoffs says; one to
    // release it.
    expect(commands).toBe(3);
    await bench.untilNothingIsLeft();
  });

  it('takes one command per localHandoffs members while another client waits', async () => {
    const [one, other] = await bench.serviceList(2, { localHandoffs: 16, localHandoffTime: '30s' });
    const first = await one!.acquire('a');
    const [tokens, served]: [number[], string[]] = [[], []];
    const visits = queueUp(one!, 160, (lock) => (served.push('one'), tokens.push(lock.fencingToken)));
    // Its own are behind it for as long as there are any of the others.
    visits.push(...queueUp(other!, 16 * 12, (lock) => (served.push('other'), tokens.push(lock.fencingToken))));
    await bench.untilWaiting('a', 1);
    const commands = await commandsOf(async () => {
      await first.release();
      await Promise.all(visits);
    });
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    const batches = served
      .join(' ')
      .match(/one( one)*|other( other)*/g)!
      .map((batch) => batch.split(' ').length);
    expect(batches.slice(0, 20)).toEqual([15, ...Array<number>(19).fill(16)]);
    // One for each batch; the other one has 32 left at the end, which need no more than two.
    expect(commands).toBeLessThanOrEqual(24);
    await bench.untilNothingIsLeft();
  });

  it('ends as soon as another client waits, however many tokens are left', async () => {
    const [one, other] = await bench.serviceList(2, { localHandoffs: 16, localHandoffTime: '30s' });
    const [served, came]: [string[], number[]] = [[], []];
    const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
    const visits = queueUp(one!, 60, async () => {
      served.push('one');
      if (served.length === 25) {
        visits.push(...queueUp(other!, 1, () => came.push(served.length)));
        await eventually(async () => (await bench.waiters('a')).some((id) => id.startsWith(other!.clientId)));
      }
      await pause();
    });
    await Promise.all(visits);
    await Promise.all(visits);
    // The section that was under way, and a few more if the message arrived after its release; without a message all
    // 60.
    expect(came[0]).toBeLessThanOrEqual(35);
    await bench.untilNothingIsLeft();
  });
});

describe('a batch under faults', () => {
  it('a waiter that aborts as it is granted the lock gets a result, and later waiters are served', async () => {
    const service = await bench.service(LONG);
    for (let round = 0; round < 200; round += 1) {
      const first = await service.acquire('a');
      const controller = new AbortController();
      const second = service.acquire('a', { ...PATIENT, signal: controller.signal });
      const third = service.acquire('a', PATIENT);
      const releasing = first.release();
      const abort = () => controller.abort(new Error('enough'));
      if (round % 3 === 0) abort();
      else if (round % 3 === 1) queueMicrotask(abort);
      else setImmediate(abort);
      expect(await releasing).toBe(true);
      const outcome = await second.catch((error: Error) => error);
      if (outcome instanceof Error) expect(outcome.message).toBe('enough');
      else expect(await outcome.release()).toBe(true);
      expect(await (await third).release()).toBe(true);
    }
    await bench.untilNothingIsLeft();
  });

  it('a lease with less than half of its time left goes back to Redis', async () => {
    const service = await bench.service({ ...LONG, grantTimeout: 2_000 });
    const first = await service.acquire('a', { expire: 2_000 });
    const second = service.acquire('a', { ...PATIENT, expire: 2_000 });
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(await commandsOf(() => first.release())).toBe(1);
    const lock = await second;
    expect(lock.remainingTime()).toBeGreaterThan(1_000);
    await lock.release();
  });

  it('a forced release ends the batch, and notifies its current member', async () => {
    const [service, other] = await bench.serviceList(2, LONG);
    const first = await service!.acquire('a');
    const [second, third] = [service!.acquire('a', PATIENT), service!.acquire('a', PATIENT)];
    await first.release();
    const lock = await second;
    expect(await other!.inspect('a')).toMatchObject({ holds: 1 });
    expect(await service!.inspect('a')).toMatchObject({ fencingToken: lock.fencingToken });
    expect(await other!.forceRelease('a')).toBe(true);
    await aborted(lock.signal);
    expect(await lock.release()).toBe(false);
    const next = await third;
    expect(next.fencingToken).toBeGreaterThan(first.fencingToken + LONG.localHandoffs - 1);
    expect(await next.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('a hold whose owner was read goes back to Redis, where the owner may hold more', async () => {
    const [service, elsewhere] = await bench.serviceList(2, LONG);
    const first = await service!.acquire('a');
    const second = service!.acquire('a', PATIENT);
    const again = await elsewhere!.acquire('a', { owner: first.owner });
    expect(await first.release()).toBe(true);
    expect(await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 300))])).toBeUndefined();
    expect(await again.release()).toBe(true);
    expect(await (await second).release()).toBe(true);
  });

  it('a writer that downgrades to a reader keeps out the next writer of its process', async () => {
    const service = await bench.service(LONG);
    let reading = false;
    let together = false;
    let begin!: () => void;
    // Outside of the scope, in which it would re-enter.
    const next = new Promise<void>((resolve) => (begin = resolve)).then(() =>
      service.run('a', () => void (together ||= reading), PATIENT),
    );
    await service.run('a', async (lock) => {
      const read = await service.getReadWriteLock('a').readLock().lock();
      reading = true;
      begin();
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(await lock.release()).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 200));
      reading = false;
      await read.release();
    });
    await next;
    expect(together).toBe(false);
  });

  it('holdAtLeast applies in a batch, before and after other members', async () => {
    const service = await bench.service(LONG);
    const first = await service.acquire('a', { holdAtLeast: 400 });
    const since = performance.now();
    const second = service.acquire('a', PATIENT);
    await first.release();
    await (await second).release();
    expect(performance.now() - since).toBeGreaterThan(350);
    const [one, kept] = [await service.acquire('a'), service.acquire('a', { ...PATIENT, holdAtLeast: 400 })];
    const [before, last] = [performance.now(), service.acquire('a', PATIENT)];
    await one.release();
    await (await kept).release();
    await (await last).release();
    expect(performance.now() - before).toBeGreaterThan(350);
  });

  it('a fair request waits only for the current member of the batch', async () => {
    const [service, other] = await bench.serviceList(2, LONG);
    const first = await service!.acquire('a');
    const served: string[] = [];
    const visits = queueUp(service!, 5, () => served.push('late'));
    visits.push(...queueUp(other!, 1, () => served.push('fair'), { fair: true }));
    await bench.untilWaiting('a', 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await first.release();
    await Promise.all(visits);
    expect(served[0]).toBe('fair');
  });

  it('a fair request farther back is not overtaken by later requests either', async () => {
    const [holder, one, two, three] = await bench.serviceList(4, LONG);
    const first = await holder!.acquire('a');
    const served: string[] = [];
    const visits = queueUp(one!, 1, () => served.push('one'));
    await bench.untilWaiting('a', 1);
    visits.push(...queueUp(two!, 1, () => served.push('two')));
    await bench.untilWaiting('a', 2);
    visits.push(...queueUp(three!, 1, () => served.push('fair'), { fair: true }));
    await bench.untilWaiting('a', 3);
    visits.push(...queueUp(one!, 3, () => served.push('late')), ...queueUp(two!, 3, () => served.push('late')));
    await first.release();
    await Promise.all(visits);
    expect(served.slice(0, 3)).toEqual(['one', 'two', 'fair']);
    await bench.untilNothingIsLeft();
  });

  it('a short lease after a long one is short, even while the long one is requested', async () => {
    const service = await bench.service(LONG);
    const waiting = [2_000, 60_000, 2_000].map((expire) => service.acquire('a', { ...PATIENT, expire }));
    await (await waiting[0]!).release();
    await (await waiting[1]!).release();
    const lock = await waiting[2]!;
    expect(lock.remainingTime()).toBeLessThanOrEqual(2_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(lock.remainingTime()).toBeLessThanOrEqual(2_000);
    expect(await bench.redis.admin.pttl(STATE)).toBeLessThanOrEqual(2_000);
    await lock.release();
  });

  it('observers that abort the next waiter, or release as a waiter arrives, do no harm', async () => {
    const service = await bench.service(LONG);
    const controller = new AbortController();
    const [first, second] = [
      await service.acquire('a'),
      service.acquire('a', { ...PATIENT, signal: controller.signal }).catch((error: Error) => error),
    ];
    const observing = service.events.subscribe(
      ({ type }) => type === 'released' && controller.abort(new Error('enough')),
    );
    expect(await first.release()).toBe(true);
    const outcome = await second;
    if (!(outcome instanceof Error)) await outcome.release();
    observing.unsubscribe();
    const third = await service.acquire('a', { waitTimeout: 1_000 });
    service.events.subscribe(({ type }) => type === 'contended' && void third.release());
    expect(await (await service.acquire('a', { waitTimeout: 1_000 })).release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('a deleted key ends the current member when Redis reports it to the previous one', async () => {
    const service = await bench.service(LONG);
    const first = await service.acquire('a');
    const second = service.acquire('a', PATIENT);
    await bench.redis.admin.del(STATE);
    const verified = first.verify().catch((error: Error) => error);
    void first.release();
    const lock = await second;
    await verified;
    await aborted(lock.signal);
    expect(lock.isHeld).toBe(false);
  });
});

describe('a batch on several masters', () => {
  const masters = new RedlockBench(3);

  it('has tokens that grow across all clients', async () => {
    const services = await masters.serviceList(3, { localHandoffTime: '30s' });
    const tokens: number[] = [];
    const visits = services.flatMap((service) => queueUp(service, 20, (lock) => tokens.push(lock.fencingToken)));
    await Promise.all(visits);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(tokens).toHaveLength(60);
    await masters.untilNothingIsLeft();
  });
});
