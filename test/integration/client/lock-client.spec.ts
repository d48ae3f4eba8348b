import { NestFactory } from '@nestjs/core';
import { isLockStoreError, LockError as RootLockError, LockService, RedisLockModule } from 'nestjs-redis-locks';
import { createLockClient, LockError, type LockClientParts } from 'nestjs-redis-locks/client';
import { createMemoryStore, type LockStore } from 'nestjs-redis-locks/store';
import { findFreePort } from '../../../lab/testbed/servers/ports.mjs';
import { startRedis, throughout } from '../../../lab/testbed/locks/locks.js';

let redis: Awaited<ReturnType<typeof startRedis>>;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** Keeps what is logged. */
function logged(): { lines: string[]; logger: LockClientParts['logger'] } {
  const lines: string[] = [];
  const add = (message: string): void => void lines.push(message);
  return { lines, logger: { debug: () => undefined, log: add, warn: add, error: add } };
}

const quiet = logged();
const settings = () => ({ connection: redis.url, shutdownTimeout: 0 });

describe('createLockClient', () => {
  it('excludes an application that uses the same Redis, and is excluded by it', async () => {
    const app = await NestFactory.createApplicationContext(RedisLockModule.forRoot(settings()), { logger: false });
    const inNest = app.get(LockService);
    try {
      await using client = await createLockClient(settings(), quiet);
      const held = await client.acquire('a');
      expect(await inNest.tryAcquire('a')).toBeNull();
      await held.release();
      await inNest.run('a', async () => expect(await client.tryAcquire('a')).toBeNull());
      expect(await client.run('a', (lock) => lock.isHeld)).toBe(true);
    } finally {
      await app.close();
    }
  });

  it('logs for debugging its client id, its label and its prefix', async () => {
    const lines: string[] = [];
    const logger = { ...quiet.logger!, debug: (line: string) => void lines.push(line) };
    await using client = await createLockClient({ ...settings(), label: 'script:1' }, { logger });
    expect(lines).toContain(`locks 'default': client ${client.clientId}, label script:1, prefix 'lock'`);
  });

  it('releases its locks and disconnects at the end of its block, or when it is closed', async () => {
    const client = await createLockClient(settings(), quiet);
    const lock = await client.acquire('b');
    await client[Symbol.asyncDispose]();
    expect(lock.isHeld).toBe(false);
    expect(await redis.admin.exists('lock:state:{b}')).toBe(0);
    await expect(client.acquire('b')).rejects.toThrow('this client was closed');
    await client.close();
  });

  it('rejects and disconnects if Redis cannot be reached', async () => {
    const connection = `redis://127.0.0.1:${await findFreePort()}`;
    const { logger, lines } = logged();
    const refusal = createLockClient({ connection, commandTimeout: 300 }, { logger });
    await expect(refusal).rejects.toMatchObject({ code: 'LOCK_STORE' });
    const before = lines.length;
    await throughout(300, () => lines.length === before, { what: 'silence' });
  });

  it('closes a store that does not start', async () => {
    let closed = 0;
    const failing = ({ keyPrefix }: { keyPrefix: string }): LockStore =>
      Object.assign(createMemoryStore({ keyPrefix }), {
        start: () => Promise.reject(new Error('no such host')),
        close: () => Promise.resolve(void (closed += 1)),
      });
    await expect(createLockClient({ store: failing }, quiet)).rejects.toThrow('no such host');
    expect(closed).toBe(1);
  });

  it('names itself in the error for an option that it does not know', async () => {
    const written = { ...settings(), lockTimeout: 5 };
    await expect(createLockClient(written)).rejects.toThrow(/^createLockClient has no option "lockTimeout"/);
    await expect(createLockClient({ host: 'localhost' } as object)).rejects.toThrow(
      'createLockClient has no option "host": write connection: { host }.',
    );
  });

  it('rejects later calls and waiting calls with the reason that it is closed', async () => {
    const client = await createLockClient({ store: 'memory', keyPrefix: 'closing', shutdownTimeout: 0 }, quiet);
    await client.acquire('a');
    const waiting = client.acquire('a').catch((error: Error) => error.message);
    await client.close();
    const message =
      'this client was closed, create another one with createLockClient(): no lock can be acquired any more';
    expect(await waiting).toBe(message);
    await expect(client.run('a', () => undefined)).rejects.toThrow(message);
    await expect(client.tryAcquire('a')).rejects.toThrow(message);
    expect(() => client.getLeaderElection('a').start()).toThrow('this client was closed');
  });

  it.each(['memory', 'redis'] as const)(
    'says to calls that read or change locks that it is closed: %s',
    async (store) => {
      const client = await createLockClient({ store, ...settings() }, quiet);
      const [lock, latch] = [client.getLock('a'), client.getCountDownLatch('b')];
      const semaphore = client.getSemaphore('c', { permits: 2 });
      await client.close();
      const calls: ReadonlyArray<() => Promise<unknown>> = [
        () => client.inspect('a'),
        () => client.forceRelease('a'),
        () => client.list().next(),
        () => lock.isLocked(),
        () => latch.trySetCount(1),
        () => latch.countDown(),
        () => latch.getCount(),
        () => latch.delete(),
        () => semaphore.availablePermits(),
        () => semaphore.setPermits(3),
        () => semaphore.addPermits(1),
      ];
      const message =
        'this client was closed, create another one with createLockClient(): locks can neither be read nor changed any more';
      for (const call of calls) {
        await expect(call()).rejects.toMatchObject({ code: 'LOCK_STORE', transient: false, message });
      }
      expect(await client.health()).toMatchObject({ reachable: false, error: message });
    },
  );

  it('waits for the replies to commands that are under way when it is closed', async () => {
    const client = await createLockClient({ ...settings(), shutdownTimeout: 5_000 }, quiet);
    const latch = client.getCountDownLatch('a');
    await latch.trySetCount(2);
    const lock = await client.acquire('a');
    const closed = client.close();
    const replies = Promise.all([latch.countDown(), lock.handOver('1s')]);
    await closed;
    expect(await replies).toEqual([1, expect.any(String)]);
  });

  it('logs what its end waits for, key by key', async () => {
    const { lines, logger } = logged();
    const options = { store: 'memory', keyPrefix: 'logged', shutdownTimeout: '200ms' } as const;
    const client = await createLockClient(options, { logger });
    await client.acquire('orders');
    await client.acquire('stock', { kind: 'read' });
    await client.close();
    for (const key of ['orders', 'stock']) {
      expect(lines).toContainEqual(
        expect.stringMatching(
          `the shutdown waits up to 200 ms for the holder of '${key}', which has had it for \\d+ ms`,
        ),
      );
    }
  });

  it('has the errors of the root export', async () => {
    expect(LockError).toBe(RootLockError);
    const client = await createLockClient({ store: 'memory', keyPrefix: 'closed' }, quiet);
    await client.close();
    const error: unknown = await client.acquire('a').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RootLockError);
    expect(isLockStoreError(error)).toBe(true);
  });
});

it("createMemoryStore shares its locks with store: 'memory' of the same prefix only", async () => {
  await using one = await createLockClient({ store: 'memory', keyPrefix: 'shared', shutdownTimeout: 0 }, quiet);
  await using same = await createLockClient(
    { store: createMemoryStore, keyPrefix: 'shared', shutdownTimeout: 0 },
    quiet,
  );
  await using other = await createLockClient(
    { store: createMemoryStore, keyPrefix: 'other', shutdownTimeout: 0 },
    quiet,
  );
  await one.acquire('a');
  expect(await same.tryAcquire('a')).toBeNull();
  expect(await other.tryAcquire('a')).not.toBeNull();
});
