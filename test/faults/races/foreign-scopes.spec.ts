import type { LockEvent, LockService, LockHandle } from 'nestjs-redis-locks';
import { aborted, blockEventLoop, expectHandoff, LockBench, deferred } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

let service: LockService;
let other: LockService;
beforeEach(async () => {
  [service, other] = await bench.serviceList(2);
});

/** A request for 'mine' returns `null` to every caller except the method that holds it. */
const tryMine = (): Promise<LockHandle | null> => service.tryAcquire('mine');

describe('code that the engine calls runs outside all scopes', () => {
  it('neither re-enters the lock of the call that notices the loss after a stall', async () => {
    const [byListener, bySignal] = [deferred<Promise<LockHandle | null>>(), deferred<Promise<LockHandle | null>>()];
    const lock = await service.acquire('lost', { expire: 300, onLost: () => byListener.resolve(tryMine()) });
    lock.signal.addEventListener('abort', () => bySignal.resolve(tryMine()));
    await service.run('mine', async () => {
      blockEventLoop(310);
      expect(lock.isHeld).toBe(false);
      expect([await byListener, await bySignal]).toEqual([null, null]);
    });
  });

  const happenings: Array<[LockEvent['type'], () => Promise<unknown>]> = [
    ['acquired', () => service.acquire('a')],
    ['contended', () => service.tryAcquire('taken')],
    ['timeout', () => service.acquire('taken', { waitTimeout: 20 }).catch(() => undefined)],
    ['renewed', () => service.acquire('a', { expire: 0 })],
    ['released', async () => (await service.acquire('a')).release()],
    ['lost', async () => aborted((await service.acquire('a', { expire: 300 })).signal)],
  ];

  it.each(happenings)("an observer of '%s' does not re-enter the lock of the causing scope", async (type, happen) => {
    service = await bench.service({ renewedLease: 600 });
    await other.acquire('taken');
    const got = deferred<Promise<LockHandle | null>>();
    let tried = false;
    service.events.subscribe((event) => {
      if (event.type !== type || event.key === 'mine' || tried) return;
      tried = true;
      got.resolve(tryMine());
    });
    const task = async (): Promise<void> => {
      await happen();
      expect(await got).toBeNull();
    };
    // Its own lease is no reason to set a timer before the task does.
    await service.run('mine', task, { expire: 20_000 });
  });
});

it("an observer that requests the same key during 'acquired' waits like any other caller", async () => {
  const order: string[] = [];
  const second = deferred<Promise<LockHandle>>();
  let asked = false;
  service.events.subscribe(({ type, key }) => {
    if (type !== 'acquired' || key !== 'a' || asked) return;
    asked = true;
    second.resolve(service.acquire('a').finally(() => order.push('second')));
  });
  const first = await service.acquire('a');
  order.push('first');
  const third = other.acquire('a').finally(() => order.push('third'));
  // Only the other client has a place: within a client the next one waits for the release.
  await bench.untilWaiting('a', 1);
  expect((await bench.waiters('a'))[0]).not.toContain(first.owner.split(':')[0]);
  await expectHandoff(first, third);
  expect(await (await second).release()).toBe(true);
  expect(order).toEqual(['first', 'third', 'second']);
  await bench.untilNothingIsLeft();
});
