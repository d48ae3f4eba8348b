import { jest } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { currentLock, DistributedLock, getLockServiceToken, RedisLockModule } from 'nestjs-redis-locks';
import { getLockTestingToken, LockTesting, ManualClock, RedisLockTestingModule } from 'nestjs-redis-locks/testing';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { RedisLockRootOptions } from '../../../lib/module/redis-lock.options.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';

@Injectable()
class StockService {
  @DistributedLock({ key: 'stock:#p0', waitTimeout: '2s' })
  async reserve(_sku: string, work: () => unknown = () => undefined): Promise<number> {
    await work();
    return currentLock().fencingToken;
  }

  @DistributedLock({ key: 'stocktaking', onContended: 'skip' })
  async count(): Promise<string | undefined> {
    return 'counted';
  }
}

@Injectable()
class JobService {
  @DistributedLock({ key: 'job', instance: 'jobs' })
  async run(): Promise<void> {}
}

const modules: Array<{ close(): Promise<void> }> = [];
afterEach(async () => {
  for (const module of modules.splice(0)) await module.close();
});

async function boot(builder: ReturnType<typeof Test.createTestingModule>) {
  const module = await builder.setLogger(false as never).compile();
  modules.push(module);
  return module.init();
}

/** An application that has the testing module and one service. */
async function bootStock(options?: Parameters<typeof RedisLockTestingModule.forRoot>[0]) {
  const imports = [RedisLockTestingModule.forRoot(options)];
  const module = await boot(Test.createTestingModule({ imports, providers: [StockService] }));
  return { testing: module.get(LockTesting), stock: module.get(StockService) };
}

describe('RedisLockTestingModule', () => {
  it('replaces RedisLockModule, without Redis, and records acquisitions', async () => {
    const { testing, stock } = await bootStock();
    await Promise.all([stock.reserve('a'), stock.reserve('a'), stock.reserve('b')]);
    expect(testing.acquisitions.count('stock:a')).toBe(2);
    expect(testing.acquisitions.of('stock:b')).toEqual([
      { key: 'stock:b', kind: 'exclusive', owner: undefined, outcome: 'acquired' },
    ]);
    testing.acquisitions.clear();
    expect([...testing.acquisitions]).toEqual([]);
  });

  it('acquires a key as another process would', async () => {
    const { testing, stock } = await bootStock();
    const other = await testing.hold('stocktaking');
    expect(await stock.count()).toBeUndefined();
    expect(testing.acquisitions.count('stocktaking', 'skipped')).toBe(1);
    await other.release();
    expect(await stock.count()).toBe('counted');
    await testing.hold('left to the end');
    for (const options of [undefined, { waitTimeout: undefined }])
      await expect(testing.hold('left to the end', options)).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
  });

  it('takes a lock from its holder', async () => {
    const { testing, stock } = await bootStock();
    const [begun, end] = [deferred<AbortSignal>(), deferred()];
    const reserved = stock.reserve('a', async () => {
      begun.resolve(currentLock().signal);
      await end;
    });
    const signal = await begun;
    expect(await testing.lose('stock:a')).toBe(true);
    expect(signal.aborted).toBe(true);
    end.resolve();
    await expect(reserved).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(await testing.lose('stock:a')).toBe(false);
  });

  it('lets a test advance the clock', async () => {
    const { testing, stock } = await bootStock({ clock: 'manual', renewedLease: '30s' });
    const { clock } = testing;
    expect(clock).toBeInstanceOf(ManualClock);
    const other = await testing.hold('stock:a');
    const waiting = stock.reserve('a');
    const refused = expect(waiting).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await clock.advance(1_900);
    await clock.advance(200);
    await refused;
    await clock.advance(3_600_000);
    expect(other.isHeld).toBe(true);
    const fixed = await testing.hold('short', { expire: '1m' });
    await clock.advance(59_000);
    expect(fixed.isHeld).toBe(true);
    await clock.advance(1_000);
    expect(fixed.isHeld).toBe(false);
  });

  it('accepts durations as text, and refuses invalid ones', async () => {
    await using testing = new LockTesting({ clock: 'manual' });
    const { clock } = testing;
    const handle = await testing.hold('a', { expire: '10s' });
    await clock.advance('5s');
    expect(Math.round(handle.remainingTime() / 1_000)).toBe(5);
    for (const wrong of ['5', 'soon', Number.NaN, -1, Infinity, undefined]) {
      expect(() => clock.advance(wrong as never)).toThrow(/advance\(\) is .*(write|longest)/);
    }
    expect(Math.round(handle.remainingTime() / 1_000)).toBe(5);
    await clock.advance('5s');
    expect(handle.isHeld).toBe(false);
  });

  it('adds up overlapping calls of advance', async () => {
    await using testing = new LockTesting({ clock: 'manual' });
    const { clock } = testing;
    const started = clock.now();
    const [short, long] = [await testing.hold('a', { expire: '10s' }), await testing.hold('b', { expire: '20s' })];
    await Promise.all([clock.advance(6_000), clock.advance(6_000)]);
    expect(clock.now() - started).toBe(12_000);
    expect([short.isHeld, long.isHeld]).toEqual([false, true]);
  });

  it('says how to get a manual clock', async () => {
    await using testing = new LockTesting();
    expect(() => testing.clock).toThrow("{ clock: 'manual' }");
  });

  it('replaces named instances', async () => {
    const module = await boot(
      Test.createTestingModule({
        imports: [RedisLockTestingModule.forRoot(), RedisLockTestingModule.forRoot({ instance: 'jobs' })],
        providers: [StockService, JobService],
      }),
    );
    await module.get(JobService).run();
    const jobs = module.get<LockTesting>(getLockTestingToken('jobs'));
    expect(jobs.acquisitions.count('job')).toBe(1);
    expect(module.get(LockTesting).acquisitions.all).toEqual([]);
    expect(module.get(getLockServiceToken('jobs'))).toBe(jobs.service);
  });

  it.each([{}, { isGlobal: false }])('exports what RedisLockModule does: %j', async (options: RedisLockRootOptions) => {
    @Module({
      imports: [RedisLockTestingModule.forRoot(options)],
      providers: [StockService],
      exports: [StockService],
    })
    class Stock {}
    const module = await boot(Test.createTestingModule({ imports: [Stock] }));
    expect(await module.get(StockService).count()).toBe('counted');
  });

  it('replaces a module by overrideModule', async () => {
    const locks = RedisLockModule.forRoot({ connection: 'redis://127.0.0.1:1' });
    @Module({ imports: [locks], providers: [StockService] })
    class App {}
    const module = await boot(
      Test.createTestingModule({ imports: [App] })
        .overrideModule(locks)
        .useModule(RedisLockTestingModule.forRoot()),
    );
    await module.get(StockService).reserve('a');
    expect(module.get(LockTesting).acquisitions.count('stock:a')).toBe(1);
  });

  it('replaces RedisLockModule.forRoot() anywhere in the application, named or not', async () => {
    @Module({
      imports: [
        RedisLockModule.forRoot({ connection: 'redis://127.0.0.1:1' }),
        RedisLockModule.forRootAsync({ instance: 'jobs', useFactory: () => ({ connection: 'redis://127.0.0.1:1' }) }),
      ],
      providers: [StockService, JobService],
    })
    class App {}
    const [testing, jobs] = [new LockTesting(), new LockTesting({ instance: 'jobs' })];
    const module = await boot(jobs.override(testing.override(Test.createTestingModule({ imports: [App] }))));
    await module.get(StockService).reserve('a');
    await module.get(JobService).run();
    await testing.hold('stock:b');
    expect([testing.acquisitions.count('stock:a'), jobs.acquisitions.count('job')]).toEqual([1, 1]);
    await module.close();
    await expect(testing.hold('stock:b')).rejects.toMatchObject({ code: 'LOCK_STORE' });
  });
});

describe('an override that replaces nothing stops the start', () => {
  const jobs = () =>
    Test.createTestingModule({
      imports: [RedisLockModule.forRoot({ connection: 'redis://127.0.0.1:1', instance: 'jobs' })],
    });
  const start = async (builder: TestingModuleBuilder) => (await builder.setLogger(false as never).compile()).init();

  it('because the application has no such instance', async () => {
    await using testing = new LockTesting({ instance: 'jobs' });
    await using other = new LockTesting({ instance: 'jbos' });
    await expect(start(other.override(testing.override(jobs())))).rejects.toThrow(
      "there is no RedisLockModule named 'jbos': import RedisLockModule.forRoot({ instance: 'jbos' }). Known: 'jobs'.",
    );
  });

  it('because the application has another service, such as that of another copy of the package', async () => {
    await using testing = new LockTesting({ instance: 'jobs' });
    await using other = new LockTesting({ instance: 'jobs' });
    const builder = testing.override(jobs()).overrideProvider(getLockServiceToken('jobs')).useValue(other.service);
    await expect(start(builder)).rejects.toThrow(
      "LockTesting.override has not replaced the locks 'jobs': the test imports",
    );
  });
});

describe('LockTesting without a module', () => {
  it('passes its service to an instance made with new', async () => {
    await using testing = new LockTesting();
    const stock = testing.withLocks(new StockService());
    expect(await stock.reserve('a')).toBeGreaterThan(0);
    await testing.withLocks(new JobService()).run();
    expect(testing.acquisitions.all.map(({ key }) => key)).toEqual(['stock:a', 'job']);
    expect(() => testing.withLocks({})).toThrow('no methods with @DistributedLock');
  });

  it('records modes, owners and outcomes', async () => {
    await using testing = new LockTesting();
    const { service } = testing;
    await service.run('k', () => service.run('k', () => undefined));
    const read = await service.acquire('k', { kind: 'read', owner: 'me' });
    await expect(service.acquire('k', { owner: 'me' })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    await read.release();
    await service.run('k', () => undefined, { permits: 2 });
    await service.run(['k', 'l'], () => undefined);
    const held = await testing.hold('k');
    const reason = new Error('no more');
    await expect(service.acquire('k', { signal: AbortSignal.timeout(10) })).rejects.toBeDefined();
    await expect(service.acquire('k', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await held.release();
    expect(testing.acquisitions.all.map((each) => [each.key, each.kind, each.owner, each.outcome].join(' '))).toEqual([
      'k exclusive  acquired',
      'k read me acquired',
      'k exclusive me failed',
      'k permits  acquired',
      'k exclusive  acquired',
      'l exclusive  acquired',
      'k exclusive  aborted',
    ]);
  });

  it('is separate from all other locks', async () => {
    await using one = new LockTesting();
    await using other = new LockTesting();
    await one.hold('k');
    expect(await (await other.service.tryAcquire('k'))?.release()).toBe(true);
  });

  it('closes with held locks, even if the clock stands still', async () => {
    const testing = new LockTesting({ clock: 'manual' });
    const held = await testing.service.acquire('k');
    await testing.hold('l');
    await testing.close();
    expect(held.isHeld).toBe(false);
  });

  it('serves and closes under fake timers of Jest, also with held locks', async () => {
    const testing = new LockTesting();
    jest.useFakeTimers();
    try {
      const lock = await testing.service.acquire('k');
      const waiting = testing.service.acquire('k');
      await lock.release();
      const held = await waiting;
      await testing.close();
      expect(held.isHeld).toBe(false);
    } finally {
      jest.useRealTimers();
    }
  }, 10_000);

  it.each([{ clock: 'fake' as never }, { keyPrefix: '{' }, { conection: 'redis://127.0.0.1' } as never])(
    'refuses unknown options: %j',
    (options) => {
      expect(() => new LockTesting(options)).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG' }));
    },
  );
});

it("store: 'memory' accepts a connection that it does not use, so that a variable can switch", () => {
  expect(() => RedisLockModule.forRoot({ store: 'memory', connection: undefined })).not.toThrow();
  expect(() => RedisLockModule.forRoot({ store: 'redis', connection: undefined })).toThrow('connection is undefined');
  expect(() => RedisLockModule.forRoot({ store: 'disk' as never })).toThrow("'redis', 'memory'");
});

const LIBRARY = new URL('../../../dist/esm/testing/index.js', import.meta.url).href;

/** The output of a script that only waits for locks in memory. */
async function printed(script: string): Promise<string> {
  const source = `import { LockTesting } from '${LIBRARY}'; const testing = new LockTesting(); const { service } = testing; ${script}`;
  // Jest passes the colours of its terminal on.
  const env = { ...process.env, FORCE_COLOR: '0' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], { env });
  return stdout;
}

it('the memory store warns once per process, and not in tests', async () => {
  const index = new URL('../../../dist/esm/index.js', import.meta.url).href;
  const source = `
    import 'reflect-metadata';
    import { NestFactory } from '@nestjs/core';
    import { RedisLockModule } from '${index}';
    for (const name of ['one', 'two']) {
      const imports = [RedisLockModule.forRoot({ instance: name, store: 'memory' })];
      const app = await NestFactory.createApplicationContext({ module: class {}, imports }, { logger: ['warn', 'error'] });
      await app.close();
    }`;
  const { JEST_WORKER_ID: _, ...environment } = process.env;
  const env = { ...environment, NODE_ENV: 'development', NO_COLOR: '1' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], { env });
  const lines = stdout.split('\n').filter((line) => line !== '');
  expect(lines).toEqual([expect.stringMatching(/WARN \[RedisLock\] .*process/)]);
});

it('a wait keeps the process alive even without a connection', async () => {
  expect(
    await printed(`
      const first = await testing.hold('a', { holdAtLeast: 200 });
      await first.release();
      const next = await service.acquire('a');
      console.log('next', await next.release());`),
  ).toBe('next true\n');
});

it('a latch that is awaited keeps the process alive', async () => {
  expect(
    await printed(`
      const latch = service.getCountDownLatch('a');
      await latch.trySetCount(1);
      console.log(await latch.await(200));`),
  ).toBe('false\n');
});

it('held locks do not keep the process alive, nor does a store without waiters', async () => {
  expect(await printed(`await service.acquire('a'); console.log('held');`)).toBe('held\n');
});
