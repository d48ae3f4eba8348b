import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockStoreHarness } from 'nestjs-redis-locks/testing';
import type { AcquireReply, AcquireRequest } from '../../lib/store/lock-store.js';
import { StagedStore } from '../../lib/testing/contract/stage.js';
import { redisHarness } from './harnesses.js';

const GRANT_TIMEOUT = 3_000;
/** The shortest period with which a request follows others. */
const FOLLOWS = { period: 10 * GRANT_TIMEOUT, patience: 60_000, grantTimeout: GRANT_TIMEOUT };
const LEASE = 2_000;

/** What Redis does for a request that follows others of its client. */
describe('one Redis', () => {
  let harness!: LockStoreHarness;
  let store!: StagedStore;
  let keys = 0;
  beforeAll(async () => {
    harness = await redisHarness();
  });
  afterEach(() => store.port.close());
  afterAll(() => harness.stop());

  /** A key that is held, and requests for it. */
  const setUp = async (lease: number) => {
    store = new StagedStore(await harness.store());
    const key = `f${(keys += 1)}`;
    const request = (details: Partial<AcquireRequest> = {}): AcquireRequest => store.request(key, details);
    const send = async (asked: AcquireRequest): Promise<AcquireReply> => {
      const reply = store.port.acquire(asked);
      await harness.sleep(1);
      return reply;
    };
    const holder = request({ lease });
    expect((await send(holder)).outcome).toBe('held');
    const until = async (look: () => boolean): Promise<void> => {
      const deadline = harness.now() + 10_000;
      while (!look()) {
        expect(harness.now()).toBeLessThan(deadline);
        await harness.sleep(5);
      }
    };
    return { key, request, send, holder, until };
  };

  it('has it retry after its period, whatever lease blocks it', async () => {
    const { request, send } = await setUp(LEASE);
    const [first, last] = [request(), request(FOLLOWS)];
    const early = await send(first);
    expect(early).toMatchObject({ outcome: 'queued' });
    expect((early as { retryAfter: number }).retryAfter).toBeLessThan(FOLLOWS.period / 2);
    expect(await send(last)).toMatchObject({ outcome: 'queued', retryAfter: FOLLOWS.period });
  });

  it('has it retry when the lease ends if its period is shorter by 1 ms', async () => {
    const { request, send } = await setUp(LEASE);
    const reply = await send(request({ ...FOLLOWS, period: FOLLOWS.period - 1 }));
    expect((reply as { retryAfter: number }).retryAfter).toBeLessThan(FOLLOWS.period / 2);
  });

  it('tells it to retry when it becomes the head and the lease before it ends earlier', async () => {
    const { key, request, send, holder, until } = await setUp(30_000);
    const [first, second, third] = [request(), request(FOLLOWS), request(FOLLOWS)];
    for (const each of [first, second, third]) expect(await send(each)).toMatchObject({ outcome: 'queued' });
    await store.release(key, holder.id);
    await until(() => store.isToAsk(second));
    expect(await store.isGranted(first)).toBe(true);
    expect(store.isToAsk(third)).toBe(false);
  });
});
