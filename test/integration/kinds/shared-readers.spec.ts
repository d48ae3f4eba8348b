import { describe, expect, it } from '@jest/globals';
import type { LockHandle } from 'nestjs-redis-locks';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { redisKey } from '../../../lab/testbed/locks/redis-key.mjs';
import { observe, releaseAll } from './support.js';

const bench = new LockBench();
const READ = { kind: 'read' } as const;
/** Readers may join for so long that no test is too slow for it. */
const LONG = { localHandoffTime: '10s' } as const;

const { scripts, stored } = observe(bench);

describe('readers of one process', () => {
  it('share one hold in Redis: 1 000 of them cost two commands', async () => {
    const service = await bench.service(LONG);
    // Redis learns the scripts.
    await (await service.acquire('b', READ)).release();
    const first = await service.acquire('a', READ);
    await bench.redis.resetCommandStats();
    const others: LockHandle[] = [];
    for (let i = 0; i < 1_000; i++) others.push((await service.tryAcquire('a', READ))!);
    expect(await releaseAll([first, ...others.slice(1)])).toEqual(Array.from({ length: 1_000 }, () => true));
    expect(await scripts()).toBe(0);
    expect(await stored('a')).toBe(1);
    expect(await others[0]!.release()).toBe(true);
    expect(await scripts()).toBe(1);
    await bench.untilNothingIsLeft();
  });

  it('share one ticket, and are granted together', async () => {
    const [writer, readers] = await bench.serviceList(2);
    const lock = await writer!.acquire('a');
    const reading = Array.from({ length: 50 }, () => readers!.acquire('a', READ));
    await bench.untilWaiting('a', 1);
    await lock.release();
    const handles = await Promise.all(reading);
    expect(await stored('a')).toBe(1);
    expect(new Set(handles.map(({ fencingToken }) => fencingToken)).size).toBe(1);
    expect(handles[0]!.fencingToken).toBeGreaterThan(lock.fencingToken);
    // After the first, short lease of a grant by message.
    await Promise.all(handles.map((handle) => handle.verify()));
    expect(await releaseAll(handles)).toEqual(handles.map(() => true));
    await bench.untilNothingIsLeft();
  });

  it('are served in portions if very many wait', async () => {
    const [writer, readers] = await bench.serviceList(2);
    const lock = await writer!.acquire('a');
    const reading = Array.from({ length: 2_500 }, () => readers!.acquire('a', READ));
    await bench.untilWaiting('a', 1);
    await lock.release();
    const handles = await Promise.all(reading);
    expect(await stored('a')).toBe(3);
    expect(await releaseAll(handles)).toEqual(handles.map(() => true));
    await bench.untilNothingIsLeft();
  });

  it('keep leases of their own', async () => {
    const service = await bench.service(LONG);
    const renewed = await service.acquire('a', READ);
    const fixed = await service.acquire('a', { ...READ, expire: '2s' });
    const other = await service.acquire('a', { ...READ, expire: '20s' });
    expect(await stored('a')).toBe(1);
    await fixed.verify();
    expect(fixed.remainingTime()).toBeLessThanOrEqual(2_000);
    expect(renewed.remainingTime()).toBeGreaterThan(20_000);
    let lost = false;
    fixed.signal.addEventListener('abort', () => (lost = true));
    await eventually(() => lost, { within: 10_000 });
    expect([renewed.isHeld, fixed.isHeld, other.isHeld]).toEqual([true, false, true]);
    expect(await fixed.release()).toBe(false);
    expect(await releaseAll([renewed, other])).toEqual([true, true]);
    await bench.untilNothingIsLeft();
  });

  it('free the key when the last of them loses its lease, however long the store would keep it', async () => {
    const [service, other] = await bench.serviceList(2, LONG);
    const first = await service!.acquire('a', READ);
    await service!.acquire('a', { ...READ, expire: '2s' });
    await first.release();
    expect(await stored('a')).toBe(1);
    const writer = await other!.acquire('a', { waitTimeout: '8s' });
    expect(writer.isHeld).toBe(true);
    await writer.release();
    await bench.untilNothingIsLeft();
  });

  it('extend their own leases, and no other', async () => {
    const service = await bench.service(LONG);
    const fixed = { ...READ, expire: '20s' } as const;
    const [one, two] = await Promise.all([service.acquire('a', fixed), service.acquire('a', fixed)]);
    await one.extend('1h');
    expect(one.remainingTime()).toBeGreaterThan(3_000_000);
    expect(await bench.redis.admin.pttl(redisKey('state', 'a'))).toBeGreaterThan(3_000_000);
    await two.verify();
    expect(two.remainingTime()).toBeLessThanOrEqual(20_000);
    await Promise.all([two.extend(200), two.extend('30s'), two.extend('10s')]);
    expect(two.remainingTime()).toBeGreaterThan(25_000);
    expect(two.remainingTime()).toBeLessThanOrEqual(30_000);
    await one.verify();
    expect(one.remainingTime()).toBeGreaterThan(3_000_000);
    await Promise.all([one.release(), two.release()]);
    await bench.untilNothingIsLeft();
  });

  it('stop joining as soon as a writer of another process waits', async () => {
    const [readers, writers] = await bench.serviceList(2, LONG);
    const first = await readers!.acquire('a', READ);
    const second = await readers!.acquire('a', READ);
    const writing = writers!.acquire('a');
    await bench.untilWaiting('a', 1);
    await eventually(async () => {
      const late = await readers!.tryAcquire('a', READ);
      await late?.release();
      return late === null;
    });
    const late = readers!.acquire('a', READ);
    await bench.untilWaiting('a', 2);
    await releaseAll([first, second]);
    const writer = await writing;
    await writer.release();
    const reader = await late;
    expect(reader.fencingToken).toBeGreaterThan(writer.fencingToken);
    await reader.release();
    await bench.untilNothingIsLeft();
  });

  it('stop joining as soon as a writer of their own process asks', async () => {
    const service = await bench.service(LONG);
    const first = await service.acquire('a', READ);
    const writing = service.acquire('a');
    const late = service.acquire('a', READ);
    await bench.untilWaiting('a', 2);
    await first.release();
    const writer = await writing;
    await writer.release();
    expect((await late).fencingToken).toBeGreaterThan(writer.fencingToken);
    await (await late).release();
  });

  it('join for localHandoffTime only', async () => {
    const service = await bench.service({ localHandoffTime: 1 });
    const first = await service.acquire('a', READ);
    const granted = performance.now();
    await eventually(() => performance.now() - granted > 2);
    const second = await service.acquire('a', READ);
    expect(await stored('a')).toBe(2);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    await releaseAll([first, second]);
  });

  it('have holds of their own with fair, an owner, holdAtLeast, or localHandoffs: 1', async () => {
    const service = await bench.service(LONG);
    const alone = await bench.service({ localHandoffs: 1 });
    const first = await service.acquire('a', READ);
    const others = [
      await service.acquire('a', { ...READ, fair: true }),
      await service.acquire('a', { ...READ, owner: 'me' }),
      await service.acquire('a', { ...READ, holdAtLeast: 1 }),
      await alone.acquire('a', READ),
      await alone.acquire('a', READ),
    ];
    expect(await stored('a')).toBe(6);
    // Code that knows the owner may hold the key under that name elsewhere.
    expect(first.owner).toEqual(expect.any(String));
    others.push(await service.acquire('a', READ));
    expect(await stored('a')).toBe(7);
    await releaseAll([first, ...others]);
  });

  it('are all shown by inspect in their process, and one of them can be released by force', async () => {
    const [here, there] = await bench.serviceList(2, LONG);
    const handles = await Promise.all([1, 2, 3].map(() => here!.acquire('a', { ...READ, pattern: 'a list' })));
    expect((await there!.inspect('a'))!.holders).toHaveLength(1);
    const { holders } = (await here!.inspect('a'))!;
    expect(new Set(holders.map(({ id }) => id)).size).toBe(3);
    expect(holders.map(({ client, pattern, kind: type }) => [client, pattern, type])).toEqual(
      handles.map(() => [here!.clientId, 'a list', 'read']),
    );
    expect(await here!.forceRelease('a', { hold: holders[1]!.id })).toBe(true);
    expect(handles.map(({ isHeld }) => isHeld)).toEqual([true, false, true]);
    expect(await here!.forceRelease('a', { hold: holders[1]!.id })).toBe(false);
    await handles[0]!.verify();
    expect((await here!.inspect('a'))!.holders).toHaveLength(2);
    // Other processes know the hold in Redis, which ends for all that share it.
    const lost = Promise.all(
      [handles[0]!, handles[2]!].map(
        ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      ),
    );
    expect(await there!.forceRelease('a')).toBe(true);
    await lost;
    expect(handles.filter(({ isHeld }) => isHeld)).toEqual([]);
    await bench.untilNothingIsLeft();
  });

  it('are all lost if Redis does not know their hold any more', async () => {
    const service = await bench.service(LONG);
    const handles = await Promise.all([1, 2, 3].map(() => service.acquire('a', READ)));
    await bench.redis.admin.flushall();
    await expect(handles[1]!.verify()).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(handles.filter(({ isHeld }) => isHeld)).toEqual([]);
    expect(await releaseAll(handles)).toEqual([false, false, false]);
  });

  it('refuse handOver while others share the hold, and say what to do instead', async () => {
    const [service, adopter] = await bench.serviceList(2, LONG);
    const [one, two] = await Promise.all([service!.acquire('a', READ), service!.acquire('a', READ)]);
    await expect(one.handOver()).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining('fair: true'),
    });
    expect(one.isHeld).toBe(true);
    await two.release();
    const adopted = await adopter!.adopt(await one.handOver());
    expect(adopted.isHeld).toBe(true);
    await adopted.release();
    await bench.untilNothingIsLeft();
  });

  it('send no command for sections one after another that release in the background', async () => {
    const service = await bench.service(LONG);
    await bench.redis.resetCommandStats();
    for (let i = 0; i < 100; i++) await service.run('a', () => undefined, { ...READ, release: 'background' });
    await bench.untilNothingIsLeft();
    expect(await scripts()).toBe(2);
  });

  it('share several keys that are read together with nobody', async () => {
    const service = await bench.service(LONG);
    const sets = await Promise.all([1, 2].map(() => service.acquire(['a', 'b'], { ...READ, holdAtLeast: 300 })));
    expect([await stored('a'), await stored('b')]).toEqual([2, 2]);
    expect(new Set(sets.map(({ owner }) => owner)).size).toBe(2);
    await releaseAll(sets);
    expect(await service.tryAcquire('a')).toBeNull();
    await bench.untilNothingIsLeft();
  });
});
