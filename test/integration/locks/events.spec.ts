import { tracingChannel } from 'node:diagnostics_channel';
import type { LockEvent, LockService, LockHolder } from 'nestjs-redis-locks';
import { type LockAcquisition, type LockSkippedEvent, LOCK_CHANNELS } from 'nestjs-redis-locks/diagnostics';
import { aborted, AT_ONCE, expectHandoff, LockBench, record, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const types = (events: readonly LockEvent[]) => events.map(({ type }) => type);

describe('events', () => {
  it('report an acquisition and its release', async () => {
    const service = await bench.service();
    const events = record(service);
    const lock = await service.acquire('a');
    await lock.release();
    const common = {
      key: 'a',
      owner: lock.owner,
      fencingToken: lock.fencingToken,
      kind: 'exclusive',
      label: service.label,
    };
    expect(events).toEqual([
      { type: 'acquired', ...common, waited: expect.any(Number), contended: false },
      { type: 'released', ...common, held: expect.any(Number) },
    ]);
    expect((events[0] as { waited: number }).waited).toBeLessThan(AT_ONCE);
  });

  it('report each wait in one process', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a');
    const events = record(service);
    const waits = [service.acquire('a'), service.acquire('a', { owner: 'me' })];
    await bench.untilWaiting('a', 1);
    await eventually(() => events.length === 2);
    expect(new Set(events.map(({ owner }) => owner))).toEqual(new Set([undefined, 'me']));
    await lock.release();
    await (await Promise.race(waits)).release();
    await Promise.all(waits);
  });

  it('report a wait that ends without the lock', async () => {
    const [holder, waiter] = await bench.pair();
    const { owner: holderId } = await holder.acquire('a');
    const events = record(waiter);
    await expect(waiter.acquire('a', { waitTimeout: 0 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await expect(waiter.acquire('a', { waitTimeout: 100, owner: 'me' })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    const common = { key: 'a', kind: 'exclusive', label: waiter.label, holder: expect.any(String), holderId };
    expect(events).toEqual([
      { type: 'contended', ...common, owner: undefined },
      { type: 'timeout', ...common, owner: undefined, waited: expect.any(Number) },
      { type: 'contended', ...common, owner: 'me' },
      { type: 'timeout', ...common, owner: 'me', waited: expect.any(Number) },
    ]);
    expect((events[3] as { waited: number }).waited).toBeGreaterThanOrEqual(100);
  });

  it.each<[string, (service: LockService) => Promise<unknown>]>([
    ['tryAcquire', (service) => service.tryAcquire('a', { waitTimeout: 50 })],
    ['tryAcquire of several keys', (service) => service.tryAcquire(['a', 'b'], { waitTimeout: 500 })],
    ['tryLock', (service) => service.getLock('a').tryLock(50)],
    ['tryLock of several keys', (service) => service.getMultiLock(['a', 'b']).tryLock(500)],
    ['tryAcquire of a semaphore', (service) => service.getSemaphore('a', { permits: 1 }).tryAcquire(1, 50)],
  ])('tell of a caller that does without the lock: %s', async (_what, call) => {
    const [holder, caller] = await bench.pair();
    await holder.acquire('a', { owner: 'holder' });
    const events = record(caller);
    const told: LockAcquisition[] = [];
    const channel = tracingChannel<LockAcquisition>(LOCK_CHANNELS.acquire);
    const listener = (message: unknown) => void told.push(message as LockAcquisition);
    channel.asyncEnd.subscribe(listener);
    expect(await call(caller)).toBeNull();
    channel.asyncEnd.unsubscribe(listener);
    expect(types(events).filter((type) => type !== 'contended')).toEqual(['skipped']);
    const [skipped] = events.filter(({ type }) => type === 'skipped') as [LockSkippedEvent];
    expect(skipped).toMatchObject({ key: 'a', owner: undefined });
    // With several keys, each wait is reported on its own.
    expect(skipped.waited).toBeGreaterThan(0);
    expect(told.map(({ optional }) => optional)).toEqual([true]);
  });

  it('report the timeout of several keys whose first answer comes after the wait', async () => {
    const holder = await bench.service();
    await holder.acquire('a');
    const { proxy, service: caller } = await bench.proxied();
    const events = record(caller);
    proxy.delay({ reply: 150 });
    await expect(caller.acquire(['a', 'b'], { waitTimeout: 60 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(events).toEqual([expect.objectContaining({ type: 'timeout', key: 'a' })]);
    expect((events[0] as { waited: number }).waited).toBeGreaterThanOrEqual(150);
    proxy.delay({});
  });

  it('report a loss once, and no release', async () => {
    const [service, other] = await bench.pair();
    const events = record(service);
    const lock = await service.acquire('a');
    await other.forceRelease('a');
    await aborted(lock.signal);
    await lock.release();
    expect(types(events)).toEqual(['acquired', 'lost']);
    expect(events[1]).toEqual({
      type: 'lost',
      key: 'a',
      owner: lock.owner,
      kind: 'exclusive',
      label: service.label,
      fencingToken: lock.fencingToken,
      held: expect.any(Number),
      reason: expect.stringContaining('by force'),
      lossReason: 'forced',
      forcedBy: expect.any(String),
    });
  });

  it('name the client that released by force, and the next holder, as the log does', async () => {
    const holder = await bench.service({ label: 'orders:1' });
    const waiter = await bench.service({ label: 'orders:2' });
    const operator = await bench.service();
    const events = record(holder);
    const lock = await holder.acquire('a');
    const waiting = waiter.acquire('a');
    // Its client writes the label in the background.
    await eventually(async () => (await operator.inspect('a'))?.waiters[0]?.label);
    await operator.forceRelease('a', { by: 'ann' });
    await eventually(() => events.length === 2);
    expect(events[1]).toMatchObject({ type: 'lost', forcedBy: 'ann', nextHolder: 'orders:2' });
    expect(bench.warnings).toEqual([expect.stringMatching(/released by force by ann; the next holder is orders:2$/)]);
    await (await waiting).release();
    await lock.release();
  });

  it('do not report re-entry', async () => {
    const service = await bench.service();
    const events = record(service);
    await service.run('a', () => service.run('a', () => undefined));
    expect(types(events)).toEqual(['acquired', 'released']);
  });
});

/** The first holder of a key, once its label is known. */
const holderOf = (service: LockService, key: string): Promise<LockHolder> =>
  eventually(async () => (await service.inspect(key))?.holders.find(({ label }) => label !== undefined), {
    what: `the label of the holder of '${key}'`,
  });

describe('inspect', () => {
  it('counts the callers of this process that wait, whether they have a ticket or not', async () => {
    const [here, there] = await bench.pair();
    const lock = await here.acquire('a');
    const waits = [here.acquire('a'), here.acquire('a')];
    await eventually(async () => (await here.inspect('a'))!.waitingHere === 2);
    expect((await here.inspect('a'))!.waiters).toEqual([]);
    waits.push(there.acquire('a'), here.acquire('a', { fair: true }));
    await bench.untilWaiting('a', 2);
    expect(await here.inspect('a')).toMatchObject({ waitingHere: 3, waiters: [{}, {}] });
    expect(await there.inspect('a')).toMatchObject({ waitingHere: 1, waiters: [{}, {}] });
    await lock.release();
    await Promise.all(waits.map(async (wait) => (await wait).release()));
  });

  it('costs one command, and changes nothing', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a');
    const dump = () => bench.redis.admin.hgetall('lock:state:{a}');
    await service.inspect('a');
    const before = await dump();
    await bench.redis.resetCommandStats();
    await service.inspect('a');
    expect(await bench.calls()).toBe(1);
    expect(await dump()).toEqual(before);
    await lock.verify();
  });

  it('tells which holders and waiters are connected, right after one was killed', async () => {
    const [observer, holder] = await bench.pair();
    const worker = await bench.worker();
    const lock = await holder.acquire('a', { kind: 'read' });
    await worker.acquire('a', { kind: 'read', expire: '1m' });
    const waiting = holder.acquire('a', { owner: 'me' });
    await bench.untilWaiting('a', 1);
    const connected = async () => {
      const { holders, waiters } = (await observer.inspect('a'))!;
      const about = [...holders, ...waiters].map(
        ({ client, connected }) => `${client === holder.clientId} ${connected}`,
      );
      return about.sort();
    };
    expect(await connected()).toEqual(['false true', 'true true', 'true true']);
    await worker.process.kill();
    await eventually(async () => (await connected())[0] === 'false false');
    expect(await connected()).toEqual(['false false', 'true true', 'true true']);
    await Promise.all([lock.release(), observer.forceRelease('a')]);
    await (await waiting).release();
  });

  it('shows only the ids if the records may not be read', async () => {
    const [observer, holder] = await bench.pair();
    const lock = await holder.acquire('a', { pattern: 'orders' });
    await eventually(async () => (await bench.redis.admin.exists(`lock:client:${holder.clientId}`)) === 1);
    await bench.redis.admin.del(`lock:client:${holder.clientId}`);
    await bench.redis.admin.hset(`lock:client:${holder.clientId}`, 'of', 'another program');
    await bench.redis.admin.expire(`lock:client:${holder.clientId}`, 60);
    const info = (await observer.inspect('a'))!.holders[0]!;
    expect(info).toMatchObject({ client: holder.clientId, label: undefined, pattern: undefined });
    await lock.release();
  });
});

it('connections have the label as their name, unless the options of ioredis name them', async () => {
  const names = async (): Promise<string[]> =>
    [...String(await bench.redis.admin.client('LIST')).matchAll(/ name=(\S+) /g)].map(([, name]) => name!);
  await bench.service({ label: 'orders:1' });
  const { hostname: host, port } = new URL(bench.redis.url);
  await bench.service({ label: 'orders:2', connection: { host, port: Number(port), connectionName: 'mine' } });
  expect((await names()).sort()).toEqual(['mine', 'mine', 'orders:1', 'orders:1']);
});

describe('events of several processes', () => {
  it('name the process, and the holder that a caller waited for', async () => {
    const holder = await bench.service({ label: 'orders:1' });
    const waiter = await bench.service({ label: 'imports:2' });
    const events = record(waiter);
    const lock = await holder.acquire('a', { pattern: 'orders' });
    await holderOf(waiter, 'a');
    const holderId = (await waiter.inspect('a'))!.holders[0]!.id;
    await expect(waiter.acquire('a', { waitTimeout: 100, pattern: 'import' })).rejects.toMatchObject({
      holder: { label: 'orders:1', pattern: 'orders' },
    });
    const waiting = waiter.acquire('a', { pattern: 'import' });
    await bench.untilWaiting('a', 1);
    await expectHandoff(lock, waiting);
    const common = { label: 'imports:2', pattern: 'import' };
    expect(events).toMatchObject([
      { ...common, type: 'contended', holder: 'orders:1', holderId },
      { ...common, type: 'timeout', holder: 'orders:1', holderId },
      { ...common, type: 'contended', holder: 'orders:1', holderId },
      { ...common, type: 'acquired', contended: true, previousHolder: 'orders:1' },
      { ...common, type: 'released' },
    ]);
  });

  it.each([
    { through: 'a local handoff', options: { localHandoffTime: '1m' } as const },
    { through: 'Redis', options: { localHandoffs: 1 } },
  ])('name the holder of the same process, through $through', async ({ options }) => {
    const service = await bench.service({ label: 'orders:1', ...options });
    const events = record(service);
    const lock = await service.acquire('a');
    const waiting = service.acquire('a');
    await expectHandoff(lock, waiting);
    expect(events.filter(({ type }) => type === 'acquired' || type === 'contended')).toMatchObject([
      { type: 'acquired', contended: false, previousHolder: undefined },
      { type: 'contended', holder: 'orders:1' },
      { type: 'acquired', contended: true, previousHolder: 'orders:1' },
    ]);
  });
});
