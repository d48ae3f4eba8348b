import { describe, expect, it } from '@jest/globals';
import type { AcquireRequest, HeldReply, LockStoreListener, PushedGrant } from '../../../lib/store/lock-store.js';
import { MemoryBackend, sharedBackend } from '../../../lib/store/memory/memory-backend.js';
import { MemoryStore } from '../../../lib/store/memory/memory-store.js';
import { FakeClock, settled } from '../../../lab/testbed/clocks/fake-clock.js';

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

  it('drops the places of a client that closes, and grants the lock to the waiter behind it', async () => {
    const bench = new Bench();
    const [one, gone, other] = [await bench.client(), await bench.client(), await bench.client()];
    const read = { mode: { kind: 'read' } } as const;
    const [first, second, third] = [one.request(read), gone.request(), other.request(read)];
    for (const [{ store }, request] of [
      [one, first],
      [gone, second],
      [other, third],
    ] as const)
      await store.acquire(request);
    await gone.store.close();
    await settled();
    expect(other.told).toEqual([`granted ${third.id}`]);
    expect((await other.store.inspect('k')).waiters).toEqual([]);
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
    expect(bench.clock.timers.size).toBe(0);
    bench.clock.advance(2_000);
    for (let i = 0; i < 4_000; i++) await client.store.inspect('other');
    expect(bench.backend.size).toEqual({ locks: 0, latches: 0 });
  });

  it('rejects calls after it is closed', async () => {
    const client = await new Bench().client();
    await client.store.close();
    await expect(client.store.acquire(client.request())).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(await client.store.renew([{ key: 'k', id: 'x:1', lease: 1 }])).toMatchObject([{ code: 'LOCK_STORE' }]);
  });
});

describe('the backends that all copies of the package share', () => {
  const shared = Symbol.for('nestjs-redis-locks:memory-backends');
  const process = globalThis as { [shared]?: unknown };

  it('are refused by name if another version has made them', () => {
    const before = process[shared];
    process[shared] = { version: 2, byPrefix: new Map() };
    try {
      expect(() => sharedBackend('lock')).toThrow(
        /found locks of version 2 .*writes version 3.*npm ls nestjs-redis-locks/,
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
