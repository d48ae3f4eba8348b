import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { runInNewContext } from 'node:vm';
import { Controller, Get, Injectable, Param } from '@nestjs/common';
import { jest } from '@jest/globals';
import { DistributedLock, getLockServiceToken, LockService, UseLock } from 'nestjs-redis-locks';
import { LOCK_CHANNELS, type LockAcquisition, type LockDiagnostics } from 'nestjs-redis-locks/diagnostics';
import { acquisitions as published } from '../../../lib/observation/diagnostics/acquisition.js';
import { NestBench } from '../nest/support.js';

const bench = new NestBench();
const { acquire: _acquire, ...EVENTS } = LOCK_CHANNELS;
const caller = new AsyncLocalStorage<string>();

/** All that the channels tell while a test runs. */
let events: LockDiagnostics[];
let asked: Array<{ readonly acquisition: LockAcquisition; readonly from: string | undefined }>;
let answered: Array<{ readonly acquisition: LockAcquisition; readonly to: string | undefined }>;

const onEvent = (event: unknown): void => void events.push(event as LockDiagnostics);
const onStart = (message: unknown): void =>
  void asked.push({ acquisition: message as LockAcquisition, from: caller.getStore() });
const onEnd = (message: unknown): void =>
  void answered.push({ acquisition: message as LockAcquisition, to: caller.getStore() });
const acquisitions = tracingChannel<LockAcquisition>(LOCK_CHANNELS.acquire);

beforeEach(() => {
  [events, asked, answered] = [[], [], []];
  for (const name of Object.values(EVENTS)) subscribe(name, onEvent);
  acquisitions.start.subscribe(onStart);
  acquisitions.asyncEnd.subscribe(onEnd);
});
afterEach(() => {
  for (const name of Object.values(EVENTS)) unsubscribe(name, onEvent);
  acquisitions.start.unsubscribe(onStart);
  acquisitions.asyncEnd.unsubscribe(onEnd);
});

const patterns = (): unknown[] => asked.map(({ acquisition }) => acquisition.pattern);
const keyed = (): unknown[] => events.map(({ type, key, pattern }) => [type, key, pattern]);

@Injectable()
class Stock {
  @DistributedLock({ key: 'stock:#{#order.sku}' })
  async reserve(order: { sku: string }) {
    return order;
  }

  @DistributedLock({ key: ['from:#a', 'to:#b'] })
  async move(a: string, b: string) {
    return [a, b];
  }

  @DistributedLock({ key: (id: string) => `made:${id}` })
  async made(_id: string) {}

  @DistributedLock({ key: (id: string) => `named:${id}`, pattern: 'named:*' })
  async named(_id: string) {}
}

@Controller()
class Orders {
  @Get(':id')
  @UseLock({ key: 'order:#{#params.id}' })
  get(@Param('id') id: string) {
    return id;
  }
}

describe('diagnostics channels', () => {
  it('make promises of another realm where Jest has one for each spec file: a lock is awaited there, too', async () => {
    const Foreign = runInNewContext('Promise') as PromiseConstructor;
    const trace = jest
      .spyOn(published, 'tracePromise')
      .mockImplementation((acquire) => Foreign.resolve().then(() => acquire()));
    const service = (await bench.boot({})).get(LockService);
    expect(await service.run('a', (lock) => lock.isHeld)).toBe(true);
    expect(trace).toHaveBeenCalledTimes(1);
    trace.mockRestore();
  });

  it('report the template of a decorated method, and the resulting key', async () => {
    await (await bench.make(Stock)).reserve({ sku: '42' });
    expect(keyed()).toEqual([
      ['acquired', 'stock:42', 'stock:#{#order.sku}'],
      ['released', 'stock:42', 'stock:#{#order.sku}'],
    ]);
    expect(asked[0]!.acquisition).toMatchObject({
      instance: 'default',
      keys: ['stock:42'],
      pattern: 'stock:#{#order.sku}',
      kind: 'exclusive',
      waitTimeout: 10_000,
    });
  });

  it('report the templates of several keys as one text', async () => {
    await (await bench.make(Stock)).move('1', '2');
    expect(patterns()).toEqual(['from:#a, to:#b']);
    expect(new Set(events.map(({ key, pattern }) => `${key} ${pattern}`))).toEqual(
      new Set(['from:1 from:#a, to:#b', 'to:2 from:#a, to:#b']),
    );
  });

  it('report no template if a function makes the key, unless it is named', async () => {
    const stock = await bench.make(Stock);
    await stock.made('1');
    await stock.named('1');
    expect(patterns()).toEqual([undefined, 'named:*']);
  });

  it('report the template of a handler', async () => {
    const { url } = await bench.listen(bench.build({ controllers: [Orders] }));
    expect(await (await fetch(`${url}/7`)).text()).toBe('7');
    expect(keyed()[0]).toEqual(['acquired', 'order:7', 'order:#{#params.id}']);
  });

  it('report the pattern that a call names, and its instance', async () => {
    const locks = (await bench.boot({}, { instance: 'jobs' })).get<LockService>(getLockServiceToken('jobs'));
    expect(locks.instance).toBe('jobs');
    await locks.run('job:1', () => undefined, { pattern: 'job:*' });
    await (await locks.acquire('job:1')).release();
    expect(events.map(({ type, instance, pattern }) => [type, instance, pattern])).toEqual([
      ['acquired', 'jobs', 'job:*'],
      ['released', 'jobs', 'job:*'],
      ['acquired', 'jobs', undefined],
      ['released', 'jobs', undefined],
    ]);
    await expect(locks.acquire('job:1', { pattern: '' })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
  });

  it('report the pattern of a lock, a semaphore or an election', async () => {
    const locks = (await bench.boot()).get(LockService);
    const named = { pattern: 'job:*' };
    for (const lock of [
      locks.getLock('job:1', named),
      locks.getFairLock('job:1', named),
      locks.getReadWriteLock('job:1', named).readLock(),
      locks.getReadWriteLock('job:1', named).writeLock(),
      locks.getMultiLock(['job:1', 'job:2'], named),
    ]) {
      await (await lock.lock()).release();
      await (await lock.tryLock())!.release();
    }
    expect(patterns()).toEqual(Array(10).fill('job:*'));

    const semaphore = locks.getSemaphore('job:2', { permits: 2, ...named });
    await (await semaphore.acquire()).release();
    await (await semaphore.tryAcquire(2))!.release();
    await semaphore.run(() => undefined);
    expect(patterns().slice(10)).toEqual(Array(3).fill('job:*'));

    const elected = new Promise<unknown>((onElected) => {
      locks.getLeaderElection('job:3', { onElected, ...named }).start();
    });
    await elected;
    expect(patterns().slice(13)).toEqual(['job:*']);
    expect(new Set(events.map(({ pattern }) => pattern))).toEqual(new Set(['job:*']));
  });

  it('report an acquisition in the context of its caller, from start to end', async () => {
    const locks = (await bench.boot()).get(LockService);
    await caller.run('me', () => locks.run('a', () => locks.run('a', () => undefined)));
    expect(asked.map(({ from }) => from)).toEqual(['me']);
    expect(answered.map(({ to }) => to)).toEqual(['me']);
    expect(answered[0]!.acquisition).toBe(asked[0]!.acquisition);
    expect([...answered[0]!.acquisition.result!.fencingTokens.keys()]).toEqual(['a']);
  });

  it('report why an acquisition failed', async () => {
    const locks = (await bench.boot()).get(LockService);
    await bench.occupy('a');
    expect(await locks.tryAcquire('a')).toBeNull();
    await expect(locks.acquire('a', { signal: AbortSignal.timeout(20) })).rejects.toThrow();
    // The first one is that of the occupant.
    expect(answered.slice(1).map(({ acquisition }) => (acquisition.error as Error).name)).toEqual([
      'LockTimeoutError',
      'TimeoutError',
    ]);
  });

  it('report a release that did not arrive', async () => {
    const locks = (await bench.boot({}, { commandTimeout: 200 })).get(LockService);
    const lock = await locks.acquire('a');
    await bench.redis.pause();
    await expect(lock.release()).rejects.toMatchObject({ code: 'LOCK_STORE' });
    await bench.redis.resume();
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'unreleased']);
    expect(events[1]).toMatchObject({ key: 'a', reason: expect.stringContaining('did not answer') });
  });
});

it('tracers of ioredis see the commands of locks, with their replies', async () => {
  const channel = tracingChannel<{ command: string; result?: unknown; error?: Error }>('ioredis:command');
  const ended: unknown[] = [];
  const asyncEnd = ({ command, result, error }: { command: string; result?: unknown; error?: Error }): void =>
    void ended.push([command, result ?? error?.message]);
  channel.subscribe({ asyncEnd } as Parameters<typeof channel.subscribe>[0]);
  try {
    const service = (await bench.boot({})).get(LockService);
    await bench.redis.admin.script('FLUSH', 'SYNC');
    await service.run('traced', () => undefined);
  } finally {
    channel.unsubscribe({ asyncEnd } as Parameters<typeof channel.unsubscribe>[0]);
  }
  expect(ended).toContainEqual(['eval', expect.any(Number)]);
  expect(ended).toContainEqual(['evalsha', expect.stringMatching(/^NOSCRIPT/)]);
});
