import { describe, expect, it } from '@jest/globals';
import type { AcquireRequest, HeldReply, LockStoreListener, PushedGrant } from '../../../lib/store/lock-store.js';
import { MemoryBackend, sharedBackend } from '../../../lib/store/memory/memory-backend.js';
import { MemoryStore } from '../../../lib/store/memory/memory-store.js';
import { FakeClock, settled } from '../../../testbed/clocks/fake-clock.js';

class Client implements LockStoreListener {
  readonly store: MemoryStore;
  readonly told: string[] = [];
  readonly grants: PushedGrant[] = [];
  private lastId = 0;

  constructor(backend: MemoryBackend) {
    this.store = new MemoryStore(backend);
    this.store.listen(this);
  }

  request(details: Partial<AcquireRequest> = {}): AcquireRequest {
    this.lastId += 1;
    return {
      key: 'k',
      id: `${this.store.clientId}:${this.lastId}`,
      mode: { kind: 'exclusive' },
      owner: undefined,
      lease: 1_000,
      waits: true,
      period: 300,
      patience: 2_000,
      grantTimeout: 200,
      batchSize: 1,
      uncontendedBatchSize: 1,
      fair: false,
      ...details,
    };
  }

  release(id: string, details: { keep?: number; tombstoneFor?: number; key?: string } = {}) {
    return this.store.release({ key: 'k', id, tombstoneFor: 0, keep: 0, next: undefined, ...details });
  }

  granted(grant: PushedGrant): void {
    this.grants.push(grant);
    this.told.push(`granted ${grant.id}`);
  }
  yield(id: string): void {
    this.told.push(`yield ${id}`);
  }

  retryAfter(id: string, delay: number): void {
    this.told.push(`ask ${id} in ${delay}`);
  }
  revoked(id: string): void {
    this.told.push(`revoked ${id}`);
  }
  opened(key: string): void {
    this.told.push(`opened ${key}`);
  }
  restored(): void {}
}

const ORIGIN = 1_700_000_000_000;

class Bench {
  readonly clock = new FakeClock();
  readonly backend = new MemoryBackend(this.clock, ORIGIN);

  async client(): Promise<Client> {
    const client = new Client(this.backend);
    await client.store.start();
    return client;
  }
}

describe('the memory store', () => {
  it('gives no place to a client that is not subscribed yet', async () => {
    const backend = new MemoryBackend(new FakeClock());
    const [one, deaf] = [new Client(backend), new Client(backend)];
    await one.store.start();
    expect((await one.store.acquire(one.request())).outcome).toBe('held');
    expect((await deaf.store.acquire(deaf.request())).outcome).toBe('busy');
    await deaf.store.start();
    expect((await deaf.store.acquire(deaf.request())).outcome).toBe('queued');
  });

  it('replies asynchronously, and sends messages after the reply', async () => {
    const bench = new Bench();
    const client = await bench.client();
    const [first, second] = [client.request(), client.request()];
    const order: string[] = [];
    const asked = client.store.acquire(first).then(() => order.push('answered'));
    order.push('asked');
    await asked;
    expect(order).toEqual(['asked', 'answered']);
    await client.store.acquire(second);
    await client.release(first.id);
    expect(client.told).toEqual([]);
    await settled();
    expect(client.told).toEqual([`granted ${second.id}`]);
  });

  it('hands off with a short first lease, which a retry or a renewal extends', async () => {
    const bench = new Bench();
    const client = await bench.client();
    const [first, second] = [client.request(), client.request()];
    await client.store.acquire(first);
    await client.store.acquire(second);
    await client.release(first.id);
    await settled();
    expect(client.grants).toMatchObject([{ key: 'k', id: second.id, lease: 200 }]);
    bench.clock.advance(100);
    expect(await client.store.acquire(second)).toMatchObject({ outcome: 'held', lease: 900 });
    expect(await client.store.renew([{ key: 'k', id: second.id, lease: 1_000 }])).toEqual([1_000]);
    expect(await client.store.renew([{ key: 'k', id: second.id, lease: 10 }])).toEqual([1_000]);
  });

  it('ends leases by its clock: a waiter that retries is granted', async () => {
    const bench = new Bench();
    const client = await bench.client();
    const [first, second] = [client.request(), client.request()];
    await client.store.acquire(first);
    expect(await client.store.acquire(second)).toMatchObject({
      outcome: 'queued',
      retryAfter: 300,
      holders: [first.id],
    });
    bench.clock.advance(1_000);
    expect(await client.store.acquire(second)).toMatchObject({ outcome: 'held', lease: 1_000 });
    expect((await client.release(first.id)).released).toBe(false);
  });

  it('issues tokens that follow its clock and grow while that stands still', async () => {
    const bench = new Bench();
    const client = await bench.client();
    const tokens: number[] = [];
    for (let i = 0; i < 3; i++) {
      const request = client.request();
      tokens.push(((await client.store.acquire(request)) as HeldReply).token);
      await client.release(request.id);
    }
    const start = Math.floor((ORIGIN + bench.clock.now()) * 1_000);
    expect(tokens).toEqual([start, start + 1, start + 2]);
  });

  it('tells a waiter of no more tokens than it has reserved for its batch', async () => {
    const bench = new Bench();
    const [one, other] = [await bench.client(), await bench.client()];
    const [first, second, third] = [one.request(), other.request({ batchSize: 200 }), one.request()];
    await one.store.acquire({ ...first, uncontendedBatchSize: 1_000 });
    await other.store.acquire(second);
    await one.store.acquire(third);
    await one.release(first.id);
    await settled();
    // The clock stands still, so the last token is ahead of it.
    const [grant] = other.grants;
    expect(grant).toMatchObject({ id: second.id, batchSize: 50 });
    await other.release(second.id);
    await settled();
    expect(one.grants[0]!.token).toBe(grant!.token + grant!.batchSize);
  });

  it('keeps a tombstone of an abandoned acquisition for its lifetime', async () => {
    const bench = new Bench();
    const client = await bench.client();
    const request = client.request();
    await client.release(request.id, { tombstoneFor: 500 });
    expect(await client.store.acquire(request)).toMatchObject({ outcome: 'left' });
    bench.clock.advance(500);
    expect(await client.store.acquire(request)).toMatchObject({ outcome: 'held' });
  });

  it('keeps the key locked for the rest of holdAtLeast', async () => {
    const bench = new Bench();
    const client = await bench.client();
    const request = client.request();
    await client.store.acquire(request);
    await client.release(request.id, { keep: 400 });
    expect((await client.store.inspect('k')).holds).toMatchObject([{ id: `${request.id}/kept`, kept: true, ttl: 400 }]);
    expect(await client.store.acquire(client.request({ waits: false }))).toMatchObject({
      outcome: 'busy',
      holders: [],
    });
    bench.clock.advance(400);
    expect(await client.store.acquire(client.request({ waits: false }))).toMatchObject({ outcome: 'held' });
  });

  it('passes over an absent client, which keeps its place until it is stale', async () => {
    const bench = new Bench();
    const [one, deaf, other] = [await bench.client(), await bench.client(), await bench.client()];
    const [first, second, third] = [one.request(), deaf.request(), other.request()];
    await one.store.acquire(first);
    await deaf.store.acquire(second);
    await other.store.acquire(third);
    await deaf.store.close();
    await one.release(first.id);
    await settled();
    expect(other.told).toEqual([`granted ${third.id}`]);
    expect(bench.backend.inspect('k').waiters.map(({ id }) => id)).toEqual([second.id]);
    bench.clock.advance(2_000);
    expect(bench.backend.inspect('k').waiters).toEqual([]);
  });

  it('notifies the head of the queue if the lease before it ends earlier', async () => {
    const bench = new Bench();
    const client = await bench.client();
    const [first, second] = [client.request({ lease: 60_000 }), client.request({ period: 20_000 })];
    await client.store.acquire(first);
    await client.store.acquire(second);
    await client.store.extend({ key: 'k', id: first.id, lease: 500 });
    await settled();
    expect(client.told).toEqual([`ask ${second.id} in 502`]);
  });

  it('gives a request with an age the place of its arrival', async () => {
    const bench = new Bench();
    const client = await bench.client();
    const [held, young, old] = [client.request(), client.request({ age: 5 }), client.request({ age: 9 })];
    for (const request of [held, young, old]) await client.store.acquire(request);
    expect((await client.store.inspect('k')).waiters.map(({ id }) => id)).toEqual([old.id, young.id]);
  });

  it('forgets unused data without a timer', async () => {
    const bench = new Bench();
    const client = await bench.client();
    for (let i = 0; i < 2_000; i++) {
      const request = client.request({ key: `k${i}` });
      await client.store.acquire(request);
      await client.release(request.id, { key: request.key });
      await client.store.acquire(client.request({ key: `held${i}` }));
    }
    expect(bench.backend.size).toEqual({ locks: expect.any(Number), fences: 4_000, latches: 0 });
    expect(bench.clock.timers.size).toBe(0);
    bench.clock.advance(602_000);
    for (let i = 0; i < 4_000; i++) {
      const request = client.request({ key: 'other' });
      await client.store.acquire(request);
      await client.release(request.id, { key: request.key });
    }
    expect(bench.backend.size).toEqual({ locks: 0, fences: 1, latches: 0 });
  });

  it('rejects calls after it is closed', async () => {
    const client = await new Bench().client();
    await client.store.close();
    await expect(client.store.acquire(client.request())).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(await client.store.renew([{ key: 'k', id: 'x:1', lease: 1 }])).toMatchObject([{ code: 'LOCK_STORE' }]);
  });
});

describe('latches of the memory store', () => {
  const set = (id: string, count: number) => ({ key: 'l', id, count, lifetime: 1_000 });

  it('open at 0, notify waiters, and count each call once', async () => {
    const bench = new Bench();
    const [one, other] = [await bench.client(), await bench.client()];
    const { latches } = one.store;
    expect(await latches.count('l', 100, [])).toEqual({ left: 0, latch: '', opened: [] });
    expect(await latches.setCount(set('first', 2))).toBe(true);
    expect(await latches.setCount(set('second', 3))).toBe(false);
    expect(await other.store.latches.count('l', 10_000, [])).toEqual({ left: 2, latch: 'first', opened: [] });
    expect(await latches.countDown('l', 'a')).toEqual({ left: 1, counted: true });
    expect(await latches.countDown('l', 'a')).toEqual({ left: 1, counted: true });
    expect(await latches.countDown('l', 'b')).toEqual({ left: 0, counted: true });
    expect(await latches.countDown('l', 'c')).toEqual({ left: 0, counted: false });
    await settled();
    expect([one.told, other.told]).toEqual([[], ['opened l']]);
    expect(await latches.setCount(set('third', 1))).toBe(true);
    expect(await latches.countDown('l', 'b')).toEqual({ left: 1, counted: true });
    const seen = ['first', 'second', 'third'];
    expect(await latches.count('l', 0, seen)).toEqual({ left: 1, latch: 'third', opened: ['first'] });
    bench.clock.advance(600_000);
    expect(await latches.count('l', 0, seen)).toEqual({ left: 0, latch: '', opened: [] });
  });

  it('expire without a count-down, and do not count as opened', async () => {
    const bench = new Bench();
    const { latches } = (await bench.client()).store;
    await latches.setCount(set('x', 2));
    bench.clock.advance(900);
    await latches.countDown('l', 'a');
    bench.clock.advance(900);
    expect((await latches.count('l', 0, [])).left).toBe(1);
    bench.clock.advance(100);
    expect(await latches.count('l', 0, ['x'])).toEqual({ left: 0, latch: '', opened: [] });
  });
});

describe('the backends that all copies of the package share', () => {
  const shared = Symbol.for('nestjs-redis-locks:memory-backends');
  const process = globalThis as { [shared]?: unknown };

  it('are refused by name if another version has made them', () => {
    const before = process[shared];
    process[shared] = { version: 3, byPrefix: new Map() };
    try {
      expect(() => sharedBackend('lock')).toThrow(
        /found locks of version 3 .*writes version 2.*npm ls nestjs-redis-locks/,
      );
    } finally {
      process[shared] = before;
    }
  });

  it('are one for each prefix', () => {
    expect(sharedBackend('one')).toBe(sharedBackend('one'));
    expect(sharedBackend('one')).not.toBe(sharedBackend('other'));
  });
});
