import type { Hold } from '../../../lib/engine/hold.js';
import type { AcquireReply, OfferReply } from '../../../lib/store/lock-store.js';
import { busy, engineBench, held, NOT_HELD, passing, queued, RELEASED, TERMS, settled } from './support.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

const OFFER = 'handover:1';

function setUp() {
  const bench = engineBench();
  const adopt = (terms: object = {}) => {
    const adoption = bench.engine.handovers.adopt('a', { ...TERMS, ...terms }, OFFER);
    adoption.catch(() => undefined);
    return adoption;
  };
  const offerOf = (hold: Hold) => ({ hold, id: OFFER, lease: 60_000 });
  /** Offers a hold, and does not answer the offer yet. */
  const offered = async () => {
    const hold = await bench.take();
    const offer = bench.engine.handovers.start(offerOf(hold));
    offer.catch(() => undefined);
    const answerOffer = (reply: OfferReply) => bench.store.offers[0]!.reply.resolve(reply);
    return { hold, offer, answerOffer };
  };
  return { ...bench, adopt, offerOf, offered };
}

it('an adopter releases permits that the holder had released, and the store did not know', async () => {
  const { store, adopt } = setUp();
  const kept: unknown[] = [];
  const keepUnits = async (request: unknown) => {
    kept.push(request);
    return 1;
  };
  Object.assign(store, { permits: { add: async () => 0, keepUnits } });
  const adoption = adopt({ mode: { kind: 'permits', units: 1, limit: 2 } });
  store.acquires[0]!.reply.resolve({ ...held(5, 30_000), units: 2 } as AcquireReply);
  const { id } = await adoption;
  expect(kept).toEqual([{ key: 'a', id, units: 1, keep: 0 }]);
});

describe('a hold that is handed over', () => {
  it('has ended, and is renewed no more, before the offer is sent', async () => {
    const { clock, store, engine, take, offerOf } = setUp();
    const hold = await take();
    const atOffer: unknown[] = [];
    store.offer = (request) => {
      atOffer.push(hold.state, hold.isHeld, engine.grants.all(), request);
      return Promise.resolve(60_000);
    };
    expect(await engine.handovers.start(offerOf(hold))).toBe(60_000);
    expect(atOffer).toEqual(['offered', false, [], { key: 'a', id: hold.id, offer: OFFER, lease: 60_000 }]);
    await clock.pass(31_000);
    expect([store.renewals.length, store.releases.length]).toEqual([0, 0]);
    expect(await engine.releases.release(hold)).toBe(false);
    expect(store.releases).toHaveLength(0);
  });

  it.each(['not-held', 'shared', 60_000] as const)('counts once if it is also released by force: %s', async (reply) => {
    const { store, engine, offered } = setUp();
    const { hold, answerOffer } = await offered();
    store.listener.revoked(hold.id, 1);
    await settled();
    answerOffer(reply);
    await settled();
    expect(engine.grants.size).toBe(0);
  });

  it('is lost if another process holds it under the same owner', async () => {
    const { hold, offer, answerOffer } = await setUp().offered();
    const { signal } = hold;
    answerOffer('shared');
    await expect(offer).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    expect([signal.aborted, hold.loss?.lossReason]).toEqual([true, 'shared-at-handover']);
  });

  it('goes before the requests of local waiters', async () => {
    const { store, engine, acquire, take, offerOf } = setUp();
    const hold = await take();
    void acquire();
    const order: string[] = [];
    store.offer = () => Promise.resolve(void order.push('offer')).then(() => 60_000);
    const { acquire: ask } = store;
    store.acquire = (request) => {
      order.push('acquire');
      return ask.call(store, request);
    };
    await engine.handovers.start(offerOf(hold));
    expect(order).toEqual(['offer', 'acquire']);
  });

  it('is offered again under the same id after a failure', async () => {
    const { store, engine, take, offerOf, events } = setUp();
    const offer = offerOf(await take());
    const first = engine.handovers.start(offer);
    store.offers[0]!.reply.reject(passing());
    await expect(first).rejects.toMatchObject({ code: 'LOCK_STORE' });
    const second = engine.handovers.offer(offer);
    store.offers[1]!.reply.resolve(50_000);
    expect(await second).toBe(50_000);
    expect(store.offers[1]!.request).toEqual(store.offers[0]!.request);
    expect(events).toEqual(['acquired', 'released']);
  });

  it('is no orphan until the offer is answered, or its lease is over', async () => {
    const { clock, store, acquire, answer, offered, left, events } = setUp();
    const { hold, offer } = await offered();
    const named = (): Promise<void> => {
      void acquire({ owner: 'other' }, 0);
      return answer({ ...busy(), holders: [hold.id] });
    };
    await named();
    store.offers[0]!.reply.reject(passing());
    await expect(offer).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(hold.state).toBe('offered');
    await clock.pass(20_000);
    await named();
    expect(left()).toEqual([]);
    expect(events).not.toContain('unreleased');
    await clock.pass(10_001);
    await named();
    expect(left()).toEqual([hold.id]);
    expect(events).toContain('unreleased');
    expect(store.renewals).toHaveLength(0);
  });

  it('is waited for at shutdown, for a second', async () => {
    for (const after of [900, 1_100]) {
      const { clock, store, engine, offered, left } = setUp();
      const { offer, answerOffer } = await offered();
      const closed = engine.close(60_000);
      await clock.pass(after);
      expect(store.closed).toBe(after > 1_000);
      answerOffer(50_000);
      expect(await offer).toBe(50_000);
      await closed;
      expect(left()).toEqual([]);
    }
  });

  it('was lost if it is released by force before the offer arrives', async () => {
    const { store, offered } = setUp();
    const { hold, offer, answerOffer } = await offered();
    store.listener.revoked(hold.id, hold.token);
    answerOffer('not-held');
    await expect(offer).rejects.toEqual(lockError('LOCK_LOST', 'by force'));
  });

  it('was lost if the store does not know it', async () => {
    const { offered, events } = setUp();
    const { hold, offer, answerOffer } = await offered();
    answerOffer('not-held');
    await expect(offer).rejects.toMatchObject({ code: 'LOCK_LOST' });
    await settled();
    expect(hold.signal.aborted).toBe(true);
    expect(events).toEqual(['acquired', 'lost']);
  });

  it('leaves a tombstone for an acquire that may still arrive after a reconnect', async () => {
    const { store, engine, take, offerOf } = setUp();
    const hold = await take();
    store.epoch += 1;
    const offered = engine.handovers.start(offerOf(hold));
    expect(store.releases).toHaveLength(0);
    store.offers[0]!.reply.resolve(60_000);
    await offered;
    expect(store.releases[0]!.request).toMatchObject({ id: hold.id, tombstoneFor: 10_000 });
  });

  it('whose lease is over is a loss, and nothing is sent', async () => {
    const { clock, store, engine, take, offerOf } = setUp();
    const hold = await take();
    clock.stall(31_000);
    expect(() => engine.handovers.start(offerOf(hold))).toThrow('its lease ended');
    expect(store.offers).toHaveLength(0);
  });
});

describe('an adoption', () => {
  it('counts its validity from the sending of the request', async () => {
    const { clock, store, adopt, events } = setUp();
    const adopting = adopt();
    expect(store.acquires[0]!.request).toMatchObject({ adopts: OFFER, waits: false, lease: 30_000 });
    clock.advance(1_000);
    store.acquires[0]!.reply.resolve(held(9, 30_000));
    const hold = await adopting;
    expect(hold.token).toBe(9);
    expect(hold.remaining).toBeLessThanOrEqual(29_000 * 0.99 + 300);
    expect(events).toEqual(['acquired']);
  });

  it('asks again under the same id after a failure, and is no orphan meanwhile', async () => {
    const { store, acquire, adopt, answer, left } = setUp();
    const first = adopt();
    const { id } = store.acquires[0]!.request;
    store.acquires[0]!.reply.reject(passing());
    await expect(first).rejects.toMatchObject({ code: 'LOCK_STORE' });
    // The store has executed it, and names it as the holder.
    void acquire();
    await answer(queued({ holders: [id] }));
    expect(left()).toEqual([]);

    const second = adopt();
    expect(store.acquires[2]!.request).toMatchObject({ id, adopts: OFFER });
    store.acquires[2]!.reply.resolve(held(9, 20_000));
    expect((await second).id).toBe(id);
  });

  it('that no caller repeats is released once its lease must be over', async () => {
    const { clock, store, adopt, left } = setUp();
    void adopt();
    store.acquires[0]!.reply.reject(passing());
    await clock.pass(39_000);
    expect(left()).toEqual([]);
    await clock.pass(1_001);
    expect(left()).toEqual([store.acquires[0]!.request.id]);
  });

  it('is refused while another call of the same client adopts the same lock', async () => {
    const { store, adopt } = setUp();
    void adopt();
    await expect(adopt()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    expect(store.acquires).toHaveLength(1);
  });

  it.each([
    ['the store knows no such offer', { outcome: 'left', time: 0 } as const],
    ['the store answers as if it were a request for the lock', busy()],
  ])('is refused if %s', async (_when, reply) => {
    const { store, adopt } = setUp();
    const adopting = adopt();
    store.acquires[0]!.reply.resolve(reply);
    await expect(adopting).rejects.toMatchObject({ code: 'LOCK_NOT_HELD', key: 'a' });
  });

  it('whose answer comes after the lease is given up', async () => {
    const { clock, store, adopt, answer, left } = setUp();
    const adopting = adopt();
    clock.stall(31_000);
    await answer(held(9, 30_000));
    await expect(adopting).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(left()).toEqual([store.acquires[0]!.request.id]);
  });

  it.each(['under way', 'without an answer'])('is released at shutdown: %s', async (how) => {
    const { store, engine, adopt, left, events } = setUp();
    const adopting = adopt();
    const [{ request, reply }] = store.acquires as [(typeof store.acquires)[0]];
    if (how === 'without an answer') {
      reply.reject(passing());
      await settled();
    }
    engine.stopWaiting();
    expect(left()).toEqual([request.id]);
    reply.resolve(held(9, 30_000));
    await expect(adopting).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect([engine.grants.size, events]).toEqual([0, []]);
    const closed = engine.close(60_000);
    await settled();
    expect(store.closed).toBe(false);
    expect(store.releases[0]!.request).toMatchObject({ id: request.id, tombstoneFor: 10_000 });
    store.releases[0]!.reply.resolve(RELEASED);
    await closed;
    expect(left()).toEqual([request.id]);
  });

  it('has its reply before the client disconnects', async () => {
    const { store, engine, adopt, answer } = setUp();
    const adopting = adopt();
    const closed = engine.close(0);
    store.releases[0]!.reply.resolve(NOT_HELD);
    await settled();
    expect(store.closed).toBe(false);
    await answer({ outcome: 'left', time: 0 });
    await expect(adopting).rejects.toMatchObject({ code: 'LOCK_STORE' });
    await closed;
  });

  it('that fails after the shutdown keeps no timer', async () => {
    const { clock, store, engine, adopt } = setUp();
    const adopting = adopt();
    const closed = engine.close(0);
    store.releases[0]!.reply.resolve(NOT_HELD);
    await clock.pass(1_000);
    await closed;
    store.acquires[0]!.reply.reject(passing());
    await expect(adopting).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(clock.timers.size).toBe(0);
  });

  it('is refused at shutdown', async () => {
    const { store, engine, adopt } = setUp();
    engine.stopWaiting();
    await expect(adopt()).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(store.acquires).toHaveLength(0);
  });
});
