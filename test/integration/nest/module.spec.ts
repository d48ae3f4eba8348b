import { Injectable, Module, Scope, type DynamicModule } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  currentLock,
  findCurrentLock,
  DistributedLock,
  getLockServiceToken,
  InjectLockService,
  LockService,
  RedisLockModule,
  UseLock,
  type RedisLockModuleOptions,
  type RedisLockOptionsFactory,
} from 'nestjs-redis-locks';
import { RedisLockDashboardModule } from 'nestjs-redis-locks/dashboard';
import { RedisLockTestingModule } from 'nestjs-redis-locks/testing';
import { Section } from '../../../lab/testbed/locks/section.js';
import { NestBench } from './support.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

const bench = new NestBench();

@Injectable()
class Stock {
  @DistributedLock('stock')
  async reserve(): Promise<string | undefined> {
    return findCurrentLock()?.key;
  }
}

@Injectable()
class Jobs {
  constructor(@InjectLockService('jobs') readonly locks: LockService) {}
  @DistributedLock({ key: 'job', instance: 'jobs' })
  async nightly(): Promise<string | undefined> {
    return findCurrentLock()?.key;
  }
}

/** An application of its own making: nothing but its imports. */
const start = (imports: Array<DynamicModule | (new () => unknown)>, providers: any[] = []) =>
  bench.start(Test.createTestingModule({ imports, providers }));

describe('RedisLockModule', () => {
  it('forRoot gives every module the service, and locked methods', async () => {
    @Module({ providers: [Stock], exports: [Stock] })
    class Feature {}
    const app = await start([bench.locks(), Feature]);
    expect(await app.get(Stock).reserve()).toBe('stock');
    expect(app.get(getLockServiceToken())).toBe(app.get(LockService));
  });

  describe('forRootAsync', () => {
    class Config {
      get redisUrl(): string {
        return bench.redis.url;
      }
    }
    @Module({ providers: [Config], exports: [Config] })
    class ConfigModule {}

    it('useFactory, with imports and inject', async () => {
      const locks = RedisLockModule.forRootAsync({
        imports: [ConfigModule],
        inject: [Config],
        useFactory: async (config: Config) => ({ connection: config.redisUrl, keyPrefix: 'shop' }),
      });
      const app = await start([locks], [Stock]);
      await app.get(Stock).reserve();
      expect(await bench.redis.admin.keys('shop:*')).not.toEqual([]);
    });

    it('useClass, with extraProviders', async () => {
      @Injectable()
      class Factory implements RedisLockOptionsFactory {
        constructor(private readonly config: Config) {}
        createRedisLockOptions(): RedisLockModuleOptions {
          return { connection: this.config.redisUrl };
        }
      }
      const app = await start([RedisLockModule.forRootAsync({ useClass: Factory, extraProviders: [Config] })], [Stock]);
      expect(await app.get(Stock).reserve()).toBe('stock');
    });

    it('useExisting', async () => {
      @Injectable()
      class Existing implements RedisLockOptionsFactory {
        createRedisLockOptions(): RedisLockModuleOptions {
          return { connection: bench.redis.url };
        }
      }
      @Module({ providers: [Existing], exports: [Existing] })
      class ExistingModule {}
      const locks = RedisLockModule.forRootAsync({ imports: [ExistingModule], useExisting: Existing });
      expect(await (await start([locks], [Stock])).get(Stock).reserve()).toBe('stock');
    });

    it('with a name', async () => {
      const useFactory = () => ({ connection: bench.redis.url });
      const app = await start([RedisLockModule.forRootAsync({ instance: 'jobs', useFactory })], [Jobs]);
      expect(await app.get(Jobs).nightly()).toBe('job');
    });

    it.each([
      ['a bad option', () => ({ commandTimeout: -1 }), 'commandTimeout is -1'],
      ['a name', () => ({ instance: 'jobs' }), "forRootAsync({ instance: 'jobs', … })"],
      [
        'isGlobal',
        () => ({ isGlobal: false }),
        'has no option "isGlobal": write it beside the factory: forRootAsync({ isGlobal, … })',
      ],
      ['a URL that is not set', () => ({ connection: process.env['NO_SUCH_URL'] }), 'connection is undefined'],
      [
        'nothing',
        () => undefined,
        'from its factory, takes an object of options; this is undefined: the options are instance, connection,',
      ],
      ['null', async () => null, 'from its factory, takes an object of options; this is null'],
    ])('does not start with %s among the options', async (_what, useFactory, message) => {
      await expect(start([RedisLockModule.forRootAsync({ useFactory: useFactory as never })])).rejects.toThrow(message);
    });
  });

  describe('forRootAsync with mistakes', () => {
    class NoFactory {
      options() {
        return {};
      }
    }

    @Module({ providers: [{ provide: 'factory', useValue: {} }], exports: ['factory'] })
    class Factories {}

    it.each([
      [{ useClass: NoFactory }, 'the class NoFactory of useClass has no method createRedisLockOptions() that returns'],
      [
        { useExisting: 'factory', imports: [Factories] },
        'what useExisting names has no method createRedisLockOptions()',
      ],
    ])('%p without the method that makes options', async (options, message) => {
      await expect(start([RedisLockModule.forRootAsync(options as never)])).rejects.toThrow(message);
    });

    it.each([
      [
        { useFactory: () => ({}), keyPrefix: 'a' },
        'no option "keyPrefix": it is made by the factory: return { keyPrefix } there',
      ],
      [{ useFactory: () => ({}), injects: [] }, 'no option "injects": did you mean \'inject\'?'],
      [{ useFactory: () => ({}), isGlobal: 'no' }, 'isGlobal is "no"; write true or false'],
      [{ useFactory: () => ({}), useClass: NoFactory }, 'takes one of useFactory, useClass and useExisting'],
    ])('%j', (options, message) => {
      expect(() => RedisLockModule.forRootAsync(options as never)).toThrow(message);
    });
  });

  it('two named instances side by side', async () => {
    const app = await start([bench.locks(), bench.locks({ instance: 'jobs', keyPrefix: 'jobs' })], [Stock, Jobs]);
    const jobs = app.get(Jobs);
    expect([await app.get(Stock).reserve(), await jobs.nightly()]).toEqual(['stock', 'job']);
    expect([app.get(LockService).instance, jobs.locks.instance]).toEqual(['default', 'jobs']);
    const keys = await bench.redis.admin.keys('*');
    expect(new Set(keys.map((key) => key.replace(/:.*/, '')))).toEqual(new Set(['lock', 'jobs']));
  });

  it('not global: serves the modules that import it', async () => {
    const locks = bench.locks({ isGlobal: false });
    @Module({ imports: [locks], providers: [Stock], exports: [Stock] })
    class Feature {}
    expect(await (await start([Feature])).get(Stock).reserve()).toBe('stock');
  });

  it('not global: a module without the import fails at boot', async () => {
    @Module({ providers: [Stock] })
    class Feature {}
    await expect(start([bench.locks({ isGlobal: false }), Feature])).rejects.toThrow(
      'LockService: import RedisLockModule.forRoot(), or RedisLockTestingModule.forRoot() in a test; with isGlobal: false, in each module',
    );
  });

  it('not global, named: a call in a module without the import says so', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Jobs {
      @DistributedLock({ key: 'jobs', instance: 'jobs' })
      async nightly(): Promise<void> {}
    }
    @Module({ providers: [Jobs] })
    class Feature {}
    const app = await start([bench.locks(), bench.locks({ instance: 'jobs', isGlobal: false }), Feature]);
    const jobs = await app.resolve(Jobs, undefined, { strict: false });
    await expect(jobs.nightly()).rejects.toThrow(
      "@DistributedLock on Jobs.nightly: RedisLockModule 'jobs' is set up with isGlobal: false, and the module of this " +
        "class does not import it: keep what forRoot({ instance: 'jobs', isGlobal: false, … }) returns and import it in both",
    );
  });

  it('the same module object imported twice is one instance', async () => {
    const locks = bench.locks();
    @Module({ imports: [locks] })
    class Feature {}
    await expect(start([locks, Feature], [Stock])).resolves.toBeDefined();
  });

  it('two applications in one process have their own services, and exclude each other', async () => {
    @Injectable()
    class Shared {
      static readonly section = new Section();
      constructor(readonly locks: LockService) {}
      @DistributedLock('shared')
      async work(): Promise<boolean> {
        await Shared.section.pass();
        return (await this.locks.inspect('shared'))?.holders[0]?.client !== undefined;
      }
    }
    const apps = [await bench.boot({ providers: [Shared] }), await bench.boot({ providers: [Shared] })];
    const [one, two] = apps.map((app) => app.get(Shared)) as [Shared, Shared];
    expect(one.locks).not.toBe(two.locks);
    await Promise.all([one, two, one, two].map((shared) => shared.work()));
    expect(Shared.section).toMatchObject({ most: 1, entries: 4 });
    await apps[0]?.close();
    expect(await two.work()).toBe(true);
  });

  it('an instance of useValue that two applications share works until both are closed', async () => {
    class Shared {
      @DistributedLock('shared')
      async work(): Promise<number> {
        return currentLock().fencingToken;
      }
    }
    const provider = { provide: Shared, useValue: new Shared() };
    const [older, newer] = [await bench.boot({ providers: [provider] }), await bench.boot({ providers: [provider] })];
    await newer.close();
    expect(await older.get(Shared).work()).toBeGreaterThan(0);
    await older.close();
    await expect(provider.useValue.work()).rejects.toMatchObject({ code: 'LOCK_STORE' });
  });

  describe('in tests of an application', () => {
    const standIn = (name: string) => ({ run: async (key: string) => `${name}: ${key}` });

    it('overrideProvider(LockService) reaches locked methods, and nothing connects', async () => {
      const nowhere = RedisLockModule.forRoot({ connection: 'redis://127.0.0.1:1' });
      const builder = Test.createTestingModule({ imports: [nowhere], providers: [Stock] });
      const app = await bench.start(builder.overrideProvider(LockService).useValue(standIn('mine')));
      expect(await app.get(Stock).reserve()).toBe('mine: stock');
    });

    it('without the module: locked methods need only the token', async () => {
      const locks = { run: async (_key: string, task: () => unknown) => task() };
      const providers = [Stock, { provide: getLockServiceToken(), useValue: locks }];
      const app = await bench.start(Test.createTestingModule({ providers }));
      expect(await app.get(Stock).reserve()).toBeUndefined(); // it ran, and there is no lock
    });

    it('overrideProvider(LockService) reaches instances of useFactory', async () => {
      const builder = bench.build({ providers: [{ provide: Stock, useFactory: () => new Stock() }] });
      const app = await bench.start(builder.overrideProvider(LockService).useValue(standIn('mine')));
      expect(await app.get(Stock).reserve()).toBe('mine: stock');
    });

    it('a mock that has a mock for each name, such as that of createMock(), takes the place of the service', async () => {
      const mock: object = new Proxy(() => undefined, { get: (_, name) => (name === 'then' ? undefined : mock) });
      const app = await bench.start(
        bench
          .build({ providers: [Stock] })
          .overrideProvider(LockService)
          .useValue(mock),
      );
      expect(await app.get(Stock).reserve()).toBeUndefined();
    });

    it('a stand-in without run() rejects, and says what to write', async () => {
      const builder = bench.build({ providers: [Stock] }).overrideProvider(LockService);
      const app = await bench.start(builder.useValue({ acquire: () => undefined }));
      await expect(app.get(Stock).reserve()).rejects.toEqual(
        lockError(
          'LOCK_CONFIG',
          'Stock.reserve: the stand-in for LockService has no run(): write { run: async (_key, task)',
        ),
      );
    });

    it('overrideProvider(getLockServiceToken(name)) reaches those of a named instance', async () => {
      const builder = bench.build({ providers: [Jobs] }, { instance: 'jobs' });
      const app = await bench.start(builder.overrideProvider(getLockServiceToken('jobs')).useValue(standIn('mine')));
      expect(await app.get(Jobs).nightly()).toBe('mine: job');
    });
  });

  describe('mistakes that stop the boot', () => {
    it("a missing module, with Nest's error that names the import", async () => {
      await expect(start([], [Stock])).rejects.toThrow(
        /can't resolve dependencies of the Stock[^]*LockService: import RedisLockModule\.forRoot\(\)/,
      );
    });

    it('a missing module, for named locks and handlers, too', async () => {
      class Named {
        @DistributedLock({ key: 'a', instance: 'jobs' })
        async work(): Promise<void> {}
      }
      class Handlers {
        @UseLock('a')
        work(): void {}
      }
      await expect(start([], [Injectable()(Named) ?? Named])).rejects.toThrow('import RedisLockModule.forRoot()');
      const builder = Test.createTestingModule({ controllers: [Handlers] });
      await expect(bench.start(builder)).rejects.toThrow('import RedisLockModule.forRoot()');
    });

    @Injectable({ scope: Scope.REQUEST })
    class Tenant {}
    @Module({ providers: [Tenant], exports: [Tenant] })
    class TenantModule {}
    const ofTenant = { imports: [TenantModule], inject: [Tenant], useFactory: () => ({}) };

    it.each<[string, () => DynamicModule[]]>([
      ['RedisLockModule', () => [RedisLockModule.forRootAsync(ofTenant)]],
      [
        'RedisLockDashboardModule',
        () => [bench.locks(), RedisLockDashboardModule.forRootAsync({ guards: 'none', ...ofTenant })],
      ],
    ])('options of %s that depend on a request', async (name, imports) => {
      await expect(start(imports())).rejects.toMatchObject({
        code: 'LOCK_CONFIG',
        message: expect.stringMatching(`the options of ${name}.forRootAsync depend on a request.*write keyBuilder`),
      });
    });

    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @DistributedLock({ key: 'a', instance: 'jbos' })
      async work(): Promise<void> {}
    }
    const jobs = () => bench.locks({ instance: 'jobs' });

    it.each<[string, () => Parameters<typeof start>, message: string]>([
      [
        'a page without options',
        () => [[bench.locks(), RedisLockDashboardModule]],
        'RedisLockDashboardModule was imported without options: write RedisLockDashboardModule.forRoot({ guards:',
      ],
      [
        'a module of tests beside that of the application',
        () => [[RedisLockTestingModule.forRoot(), bench.locks()]],
        'write new LockTesting().override(Test.createTestingModule(',
      ],
      ['two instances without a name', () => [[bench.locks(), bench.locks()]], 'set up twice without a name'],
      ['two instances with one name', () => [[jobs(), jobs()]], "set up twice with the name 'jobs'"],
      ...[LockService, class Locks extends LockService {}].map((provider): [string, () => any, string] => [
        `${provider.name} among the providers`,
        () => [[bench.locks()], [provider]],
        'leave it out of providers, and inject it where you would extend it',
      ]),
      [
        'an unknown instance of a request-scoped class, before any request',
        () => [[bench.locks()], [Scoped]],
        "Known: 'default'.",
      ],
    ])('%s', async (_, parts, message) => {
      await expect(start(...parts())).rejects.toEqual(lockError('LOCK_CONFIG', message));
    });

    it('two pages with one path', async () => {
      const page = (path: string) => RedisLockDashboardModule.forRoot({ guards: 'none', path });
      await expect(start([bench.locks(), page('admin/locks'), page('/admin/locks/')])).rejects.toMatchObject({
        code: 'LOCK_CONFIG',
        message: expect.stringContaining("RedisLockDashboardModule is set up twice with the path 'admin/locks'"),
      });
      await expect(start([bench.locks(), page('a'), page('b')])).resolves.toBeDefined();
    });

    class Wrong {
      @DistributedLock({ key: 'a', instance: 'jbos' })
      async work(): Promise<void> {}
    }
    class WrongHandler {
      @UseLock({ key: 'a', instance: 'jbos' })
      work(): void {}
    }

    it.each([
      ['a method', { providers: [Wrong] }],
      ['a method of an instance from useFactory', { providers: [{ provide: 'wrong', useFactory: () => new Wrong() }] }],
      ['a handler', { controllers: [WrongHandler] }],
    ])('an unknown instance of %s, with the known names', async (_where, metadata) => {
      const builder = Test.createTestingModule({ imports: [bench.locks(), jobs()], ...metadata });
      await expect(bench.start(builder)).rejects.toEqual(
        lockError('LOCK_CONFIG', /no RedisLockModule named 'jbos'.*Known: 'default', 'jobs'\./),
      );
    });
  });
});
