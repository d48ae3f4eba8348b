import type { HeldReply } from '../../../lib/store/lock-store.js';
import { MemoryBackend, sharedBackend } from '../../../lib/store/memory/memory-backend.js';
import { memoryStore } from '../../../lib/store/memory/memory-store.js';
import { StagedStore } from '../../../lib/testing/contract/stage.js';
import { FakeClock, settled } from '../../../lab/testbed/clocks/fake-clock.js';

const ORIGIN = 1_700_000_000_000;

class Bench {
  readonly clock = new FakeClock();
  readonly backend = new MemoryBackend(this.clock, ORIGIN);

  /** A client that is not subscribed yet. */
  client(): StagedStore {
    return new StagedStore(memoryStore(this.backend));
  }

  async started(): Promise<StagedStore> {
    const client = this.client();
    await client.port.start();
    return client;
  }
}

describe('the memory store', () => {
  it('gives no place to a client that is not subscribed yet', async () => {
    const bench = new Bench();
    const [one, deaf] = [await bench.started(), bench.client()];
    expect((await one.port.acquire(one.request('k'))).outcome).toBe('held');
    expect((await deaf.port.acquire(deaf.request('k'))).outcome).toBe('busy');
    await deaf.port.start();
    expect((await deaf.port.acquire(deaf.request('k'))).outcome).toBe('queued');
  });

  it('replies asynchronously, and sends messages after the reply', async () => {
    const client = await new Bench().started();
    const [first, second] = [client.request('k'), client.request('k')];
    const order: string[] = [];
    const asked = client.port.acquire(first).then(() => order.push('answered'));
    order.push('asked');
    await asked;
    expect(order).toEqual(['asked', 'answered']);
    await client.port.acquire(second);
    await client.release('k', first.id);
    expect(client.pushedGrant(second)).toBeUndefined();
    await settled();
    expect(client.pushedGrant(second)).toBeDefined();
  });

  it('issues tokens that follow its clock and grow while that stands still', async () => {
    const bench = new Bench();
    const client = await bench.started();
    const tokens: number[] = [];
    for (let i = 0; i < 3; i++) {
      const request = client.request('k');
      tokens.push(((await client.port.acquire(request)) as HeldReply).token);
      await client.release('k', request.id);
    }
    const start = Math.floor((ORIGIN + bench.clock.now()) * 1_000);
    expect(tokens).toEqual([start, start + 1, start + 2]);
  });

  it('tells a waiter of no more tokens than it has reserved for its batch', async () => {
    const bench = new Bench();
    const [one, other] = [await bench.started(), await bench.started()];
    const [first, second] = [one.request('k'), other.request('k', { batchSize: 200 })];
    const third = one.request('k');
    await one.port.acquire({ ...first, uncontendedBatchSize: 1_000 });
    await other.port.acquire(second);
    await one.port.acquire(third);
    await one.release('k', first.id);
    await settled();
    // The clock stands still, so the last token is ahead of it.
    const grant = other.pushedGrant(second)!;
    expect(grant.batchSize).toBe(50);
    await other.release('k', second.id);
    await settled();
    expect(one.pushedGrant(third)!.token).toBe(grant.token + grant.batchSize);
  });

  it('forgets unused data without a timer', async () => {
    const bench = new Bench();
    const client = await bench.started();
    for (let i = 0; i < 2_000; i++) {
      const released = client.request(`k${i}`, { lease: 1_000 });
      await client.port.acquire(released);
      await client.release(released.key, released.id);
      await client.port.acquire(client.request(`held${i}`, { lease: 1_000 }));
    }
    expect(bench.clock.timers.size).toBe(0);
    bench.clock.advance(2_000);
    for (let i = 0; i < 4_000; i++) await client.port.inspect('other');
    expect(bench.backend.size).toEqual({ locks: 0, latches: 0 });
  });

  it('rejects calls after it is closed', async () => {
    const client = await new Bench().started();
    await client.port.close();
    await expect(client.port.acquire(client.request('k'))).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(await client.port.renew([{ key: 'k', id: 'x:1', lease: 1 }])).toMatchObject([{ code: 'LOCK_STORE' }]);
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
