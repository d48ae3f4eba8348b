import { describe, expect, it } from '@jest/globals';
import type { LockHolder, LockService } from 'nestjs-redis-locks';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench, record } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

/** The first holder of a key, once its label is known. */
const holderOf = (service: LockService, key: string): Promise<LockHolder> =>
  eventually(async () => (await service.inspect(key))?.holders.find(({ label }) => label !== undefined), {
    what: `the label of the holder of '${key}'`,
  });

describe('inspect', () => {
  it('counts the callers of this process that wait, whether they have a ticket or not', async () => {
    const [here, there] = await bench.serviceList(2);
    const lock = await here!.acquire('a');
    const waits = [here!.acquire('a'), here!.acquire('a')];
    await eventually(async () => (await here!.inspect('a'))!.waitingHere === 2);
    expect((await here!.inspect('a'))!.waiters).toEqual([]);
    waits.push(there!.acquire('a'), here!.acquire('a', { fair: true }));
    await bench.untilWaiting('a', 2);
    expect(await here!.inspect('a')).toMatchObject({ waitingHere: 3, waiters: [{}, {}] });
    expect(await there!.inspect('a')).toMatchObject({ waitingHere: 1, waiters: [{}, {}] });
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
    expect((await bench.redis.commandStats())['evalsha']).toBe(1);
    expect(await dump()).toEqual(before);
    await lock.verify();
  });

  it('tells which holders and waiters are connected, right after one was killed', async () => {
    const [observer, holder] = await bench.serviceList(2);
    const worker = await bench.worker();
    const lock = await holder!.acquire('a', { kind: 'read' });
    await worker.acquire('a', { kind: 'read', expire: '1m' });
    const waiting = holder!.acquire('a', { owner: 'me' });
    await bench.untilWaiting('a', 1);
    const connected = async () => {
      const { holders, waiters } = (await observer!.inspect('a'))!;
      const about = [...holders, ...waiters].map(
        ({ client, connected }) => `${client === holder!.clientId} ${connected}`,
      );
      return about.sort();
    };
    expect(await connected()).toEqual(['false true', 'true true', 'true true']);
    await worker.process.kill();
    await eventually(async () => (await connected())[0] === 'false false');
    expect(await connected()).toEqual(['false false', 'true true', 'true true']);
    await Promise.all([lock.release(), observer!.forceRelease('a')]);
    await (await waiting).release();
  });

  it('shows only the ids if the records may not be read', async () => {
    const [observer, holder] = await bench.serviceList(2);
    const lock = await holder!.acquire('a', { pattern: 'orders' });
    await eventually(async () => (await bench.redis.admin.exists(`lock:client:${holder!.clientId}`)) === 1);
    await bench.redis.admin.del(`lock:client:${holder!.clientId}`);
    await bench.redis.admin.hset(`lock:client:${holder!.clientId}`, 'of', 'another program');
    await bench.redis.admin.expire(`lock:client:${holder!.clientId}`, 60);
    const info = (await observer!.inspect('a'))!.holders[0]!;
    expect(info).toMatchObject({ client: holder!.clientId, label: undefined, pattern: undefined });
    await lock.release();
  });
});

describe('connections', () => {
  it('have the label as their name, unless the options of ioredis name them', async () => {
    const names = async (): Promise<string[]> =>
      [...String(await bench.redis.admin.client('LIST')).matchAll(/ name=(\S+) /g)].map(([, name]) => name!);
    await bench.service({ label: 'orders:1' });
    const { hostname: host, port } = new URL(bench.redis.url);
    await bench.service({ label: 'orders:2', connection: { host, port: Number(port), connectionName: 'mine' } });
    expect((await names()).sort()).toEqual(['mine', 'mine', 'orders:1', 'orders:1']);
  });
});

describe('events', () => {
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
    await lock.release();
    await (await waiting).release();
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
    await lock.release();
    await (await waiting).release();
    expect(events.filter(({ type }) => type === 'acquired' || type === 'contended')).toMatchObject([
      { type: 'acquired', contended: false, previousHolder: undefined },
      { type: 'contended', holder: 'orders:1' },
      { type: 'acquired', contended: true, previousHolder: 'orders:1' },
    ]);
  });
});

it('is public, and part of the health', async () => {
  const service = await bench.service({ label: 'orders:1' });
  expect(service.label).toBe('orders:1');
  expect(await service.health()).toMatchObject({ client: service.clientId, label: 'orders:1' });
});
