import type { LockHandle, LockService, AcquireOptions } from 'nestjs-redis-locks';
import { LockBench, eventually } from '../../lab/testbed/locks/locks.js';

const bench = new LockBench({ leavesNothing: true });
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
  });

  it('ends as soon as another client waits, however many tokens are left', async () => {
    const [one, other] = await bench.pair({ localHandoffs: 16, localHandoffTime: '30s' });
    const [served, came]: [string[], number[]] = [[], []];
    const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
    const visits = queueUp(one, 60, async () => {
      served.push('one');
      if (served.length === 25) {
        visits.push(...queueUp(other, 1, () => came.push(served.length)));
        await eventually(async () => (await bench.waiters('a')).some((id) => id.startsWith(other.clientId)));
      }
      await pause();
    });
    await Promise.all(visits);
    await Promise.all(visits);
    // The section that was under way, and a few more if the message arrived after its release; without a message all
    // 60.
    expect(came[0]).toBeLessThanOrEqual(35);
  });
});

describe('a batch under faults', () => {
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
  });

  it.each<[string, (handle: LockHandle) => PromiseLike<unknown>]>([
    ['release()', (handle) => handle.release()],
    ['await using', (handle) => handle[Symbol.asyncDispose]()],
  ])('a handle that is released again as its %s is observed does not release the next one', async (_how, end) => {
    const [service, other] = [await bench.service(LONG), await bench.service()];
    const first = await service.acquire('a');
    const next = service.acquire('a', PATIENT);
    const observing = service.events.subscribe(({ type }) => type === 'released' && void first.release());
    await end(first);
    observing.unsubscribe();
    const second = await next;
    await second.verify();
    expect(await other.tryAcquire('a')).toBeNull();
    expect(await second.release()).toBe(true);
  });

  it('the owner of a handle is no other caller, even after the lock has passed to the next caller', async () => {
    const [service, other] = [await bench.service(LONG), await bench.service()];
    const first = await service.acquire('a');
    const next = service.acquire('a', PATIENT);
    expect(await first.release()).toBe(true);
    const second = await next;
    expect(first.owner).not.toBe(second.owner);
    expect(await other.tryAcquire('a', { owner: first.owner })).toBeNull();
    expect(await second.release()).toBe(true);
  });
});
