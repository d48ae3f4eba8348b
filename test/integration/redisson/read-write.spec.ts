import type { LockHandle, LockService } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { aborted, endAtOnce, LockBench, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench({ defaults: { protocol: redisson() } });
let locks: LockService;
beforeEach(async () => {
  locks = await bench.service();
});

const CHANNEL = 'redisson_rwlock:{shelf}';
const fields = (): Promise<Record<string, string>> => bench.redis.admin.hgetall('shelf');
const timeoutOf = (owner: string): string => `{shelf}:${owner}:rwlock_timeout:1`;
const leases = (): Promise<string[]> => bench.redis.admin.keys('*:rwlock_timeout:*');
const subscribers = (): Promise<number> => bench.subscribers(CHANNEL);

const writing = (task: (writer: LockHandle) => Promise<void>, options: object = {}): Promise<void> =>
  locks.run('shelf', task, { kind: 'write', ...options });

/** What Redisson does when a thread that has no hold takes the read lock. */
const readAsJava = (lease = 30_000, owner = 'java:1'): Promise<unknown> =>
  bench.redis.admin
    .multi()
    .hset('shelf', { mode: 'read', [owner]: 1 })
    .set(timeoutOf(owner), 1, 'PX', lease)
    .pexpire('shelf', lease)
    .exec();

describe('an RReadWriteLock', () => {
  it('is a hash with a mode, one field for each reader, and a key with the lease of each reader', async () => {
    const one = await locks.acquire('shelf', { kind: 'read' });
    const other = await locks.getReadWriteLock('shelf').readLock().lock();
    expect(one.kind).toBe('read');
    expect(await fields()).toEqual({ mode: 'read', [one.owner]: '1', [other.owner]: '1' });
    expect(await bench.redis.admin.get(timeoutOf(one.owner))).toBe('1');
    expect(await bench.redis.admin.pttl(timeoutOf(one.owner))).toBeGreaterThan(20_000);
    await one.release();
    expect(await fields()).toEqual({ mode: 'read', [other.owner]: '1' });
    await other.release();
    expect(await bench.redis.admin.keys('*')).toEqual([]);
  });

  it('of a writer has the field of Redisson, whether it is asked for by type or as an object', async () => {
    const byType = await locks.acquire('shelf', { kind: 'write' });
    expect(await fields()).toEqual({ mode: 'write', [`${byType.owner}:write`]: '1' });
    await byType.release();
    const object = await locks.getReadWriteLock('shelf').writeLock().lock();
    expect(await fields()).toEqual({ mode: 'write', [`${object.owner}:write`]: '1' });
    await object.release();
    expect(await bench.redis.admin.exists('shelf')).toBe(0);
  });

  it('does not join an RLock, as Redisson would, and an RLock does not join it', async () => {
    const plain = await locks.acquire('shelf');
    expect(await locks.tryAcquire('shelf', { kind: 'read' })).toBeNull();
    expect(await locks.tryAcquire('shelf', { kind: 'write' })).toBeNull();
    await plain.release();
    const reader = await locks.acquire('shelf', { kind: 'read' });
    expect(await locks.tryAcquire('shelf')).toBeNull();
    await reader.release();
  });

  it('keeps the lease of the other readers when one leaves', async () => {
    await readAsJava(20_000);
    const reader = await locks.acquire('shelf', { kind: 'read' });
    expect(await bench.redis.admin.pttl('shelf')).toBeGreaterThan(20_000);
    await reader.release();
    const left = await bench.redis.admin.pttl('shelf');
    expect(left).toBeLessThanOrEqual(20_000);
    expect(left).toBeGreaterThan(10_000);
    await bench.redis.admin.del('shelf', timeoutOf('java:1'));
  });

  it('a reader that died keeps no writer out once the living readers have left', async () => {
    await readAsJava();
    await bench.redis.admin.del(timeoutOf('java:1'));
    const reader = await locks.acquire('shelf', { kind: 'read' });
    const waiting = locks.acquire('shelf', { kind: 'write', waitTimeout: '60s' });
    await eventually(async () => (await subscribers()) === 1);
    await (await endAtOnce(waiting, () => reader.release())).release();
  });

  it('a writer that reads inside its lock continues to read after its release, and admits other readers at once', async () => {
    const other = await bench.service();
    await writing(async (writer) => {
      const reader = await locks.acquire('shelf', { kind: 'read' });
      expect(Object.keys(await fields())).toEqual(expect.arrayContaining([`${writer.owner}:write`, 'mode']));
      expect(await other.tryAcquire('shelf', { kind: 'read' })).toBeNull();
      const waiting = other.acquire('shelf', { kind: 'read', waitTimeout: '60s' });
      await eventually(async () => (await subscribers()) === 1);
      const next = await endAtOnce(waiting, () => writer.release());
      expect(reader.isHeld).toBe(true);
      expect(await bench.redis.admin.hget('shelf', 'mode')).toBe('read');
      expect(await other.tryAcquire('shelf', { kind: 'write' })).toBeNull();
      await Promise.all([next.release(), reader.release()]);
    });
    expect(await bench.redis.admin.exists('shelf')).toBe(0);
  });

  it('overlapping readers of a process do not keep its writer out, and come after it', async () => {
    const order: string[] = [];
    const contended = new Set<string>();
    locks.events.subscribe((event) => event.type === 'contended' && contended.add(event.kind));
    let reader = await locks.acquire('shelf', { kind: 'read' });
    const writing = locks.acquire('shelf', { kind: 'write', waitTimeout: '60s' });
    void writing.then(() => order.push('write'));
    await eventually(() => contended.has('write') || contended.has('exclusive'));
    for (let i = 0; i < 3; i++) expect(await locks.tryAcquire('shelf', { kind: 'read' })).toBeNull();
    const reading = locks.acquire('shelf', { kind: 'read', waitTimeout: '60s' });
    void reading.then(() => order.push('read'));
    await reader.release();
    const writer = await writing;
    expect(await locks.tryAcquire('shelf', { kind: 'read' })).toBeNull();
    await writer.release();
    reader = await reading;
    expect(order).toEqual(['write', 'read']);
    await reader.release();
    expect(await bench.redis.admin.exists('shelf')).toBe(0);
  });

  it('a writer that came before a reader of its process is served before it, although the process held the lock then', async () => {
    const order: string[] = [];
    const first = await locks.acquire('shelf', { kind: 'write' });
    const waits = (kind: 'read' | 'write', name: string): Promise<void> =>
      locks.run('shelf', () => void order.push(name), { kind, waitTimeout: '60s' });
    const all = [waits('write', 'w1'), waits('read', 'r1'), waits('write', 'w2'), waits('read', 'r2')];
    await eventually(async () => (await subscribers()) === 1);
    await first.release();
    await Promise.all(all);
    expect(order).toEqual(['w1', 'r1', 'w2', 'r2']);
  });

  it('publishes what Redisson publishes: 0 after the last reader, 1 after the writer', async () => {
    const messages = await bench.messages(CHANNEL);
    const [one, other] = [
      await locks.acquire('shelf', { kind: 'read' }),
      await locks.acquire('shelf', { kind: 'read' }),
    ];
    await one.release();
    await other.release();
    await (await locks.acquire('shelf', { kind: 'write' })).release();
    await eventually(() => messages.length >= 2);
    expect(messages).toEqual([`${CHANNEL} 0`, `${CHANNEL} 1`]);
  });

  it.each(['read', 'write'] as const)('the watchdog renews a %s lock, whose loss aborts the signal', async (type) => {
    const locks = await bench.service({ renewedLease: 1_000 });
    const lock = await locks.acquire('shelf', { kind: type });
    const first = await bench.redis.admin.pexpiretime('shelf');
    await eventually(async () => (await bench.redis.admin.pexpiretime('shelf')) > first + 1_000, {
      what: 'renewals',
    });
    await lock.verify();
    await bench.redis.admin.del('shelf', timeoutOf(lock.owner));
    await aborted(lock.signal);
  });

  it('inspect shows readers and writers of both sides, and a forced release ends them', async () => {
    await readAsJava();
    const reader = await locks.acquire('shelf', { kind: 'read' });
    const info = await locks.inspect('shelf');
    expect(info!.holders.map(({ id, kind: type }) => [id, type]).sort()).toEqual(
      [
        ['java:1', 'read'],
        [reader.owner, 'read'],
      ].sort(),
    );
    expect(info!.holders.every(({ ttl }) => ttl > 20_000)).toBe(true);
    expect(await locks.forceRelease('shelf', { hold: 'java:1' })).toBe(true);
    expect(reader.isHeld).toBe(true);
    expect(await locks.forceRelease('shelf')).toBe(true);
    await aborted(reader.signal);
    expect(await bench.redis.admin.keys('*shelf*')).toEqual([]);
    const writer = await locks.acquire('shelf', { kind: 'write' });
    expect((await locks.inspect('shelf'))!.holders).toMatchObject([{ id: writer.owner, kind: 'exclusive' }]);
    expect(await locks.forceRelease('shelf')).toBe(true);
    await aborted(writer.signal);
  });

  it('extend prolongs the lease of one reader, and does not touch the others', async () => {
    const short = await locks.acquire('shelf', { kind: 'read', expire: '5s' });
    const long = await locks.acquire('shelf', { kind: 'read', expire: '20s' });
    await short.extend('10s');
    expect(await bench.redis.admin.pttl(timeoutOf(short.owner))).toBeGreaterThan(5_000);
    expect(await bench.redis.admin.pttl('shelf')).toBeGreaterThan(10_000);
    await long.extend('2s');
    expect(await bench.redis.admin.pttl('shelf')).toBeLessThanOrEqual(20_000);
    await Promise.all([short.release(), long.release()]);
  });

  it.each(['the writer', 'its read lock'])('extend of %s never ends the other lease earlier', async (which) => {
    const other = await bench.service();
    await writing(
      async (writer) => {
        const reader = await locks.acquire('shelf', { kind: 'read', expire: '20s' });
        if (which === 'the writer') await writer.extend('1s');
        else await reader.extend('25s');
        const [ofReader] = await leases();
        const ends = await bench.redis.admin.pexpiretime('shelf');
        expect(ends).toBeGreaterThanOrEqual(await bench.redis.admin.pexpiretime(ofReader!));
        await writer.release();
        expect(await bench.redis.admin.hget('shelf', 'mode')).toBe('read');
        expect(await other.tryAcquire('shelf', { kind: 'write' })).toBeNull();
        expect(reader.isHeld).toBe(true);
        expect(await reader.release()).toBe(true);
      },
      { expire: '10s' },
    );
    expect(await bench.redis.admin.exists('shelf')).toBe(0);
  });

  it('a read lock whose lease ends during the write keeps no client out after the write', async () => {
    await writing(async (writer) => {
      const reader = await locks.acquire('shelf', { kind: 'read', expire: 300 });
      await aborted(reader.signal);
      await eventually(async () => (await leases()).length === 0);
      await writer.release();
      expect(await bench.redis.admin.exists('shelf')).toBe(0);
    });
  });

  it('after the write, the lock lasts as long as the longest lease of its readers', async () => {
    await writing(async (writer) => {
      const reader = await locks.acquire('shelf', { kind: 'read', expire: '5s' });
      await writer.release();
      expect(await bench.redis.admin.pttl('shelf')).toBeLessThanOrEqual(5_000);
      await reader.release();
    });
  });

  it.each(['reader', 'writer that also reads'])('a forced release of a %s of Redisson leaves no lease', async (who) => {
    await readAsJava();
    await bench.redis.admin.hincrby('shelf', 'java:1', 1);
    await bench.redis.admin.set('{shelf}:java:1:rwlock_timeout:2', 1, 'PX', 30_000);
    if (who !== 'reader') await bench.redis.admin.hset('shelf', { mode: 'write', 'java:1:write': 1 });
    expect(await locks.forceRelease('shelf')).toBe(true);
    expect(await bench.redis.admin.keys('*shelf*')).toEqual([]);
  });
});
