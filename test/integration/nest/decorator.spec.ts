import { Injectable, SetMetadata, Inject, Module, Scope, Controller, Get, type INestApplication } from '@nestjs/common';
import { jest } from '@jest/globals';
import { lastValueFrom, Observable, of, tap } from 'rxjs';
import {
  findCurrentLock,
  DistributedLock,
  lockKey,
  LockService,
  type LockTimeoutError,
  type LockHolder,
  currentLock,
  UseLock,
} from 'nestjs-redis-locks';
import { ContextIdFactory, LazyModuleLoader, NestFactory } from '@nestjs/core';
import { eventually, eventuallyPasses, redisKey, RespProxy, lockError } from '../../../lab/testbed/locks/locks.js';
import { NestBench, Work } from './support.js';
import type { LockDefaults } from '../../../lib/module/redis-lock.options.js';

const bench = new NestBench();

describe('@DistributedLock', () => {
  it('accepts key, expire and maxRenewTimes by position', async () => {
    @Injectable()
    class Stock {
      constructor(private readonly locks: LockService) {}
      @DistributedLock('stock:1', '2m', 3)
      async reserve(): Promise<number | undefined> {
        return (await this.locks.inspect('stock:1'))?.ttl;
      }
    }
    const ttl = await (await bench.make(Stock)).reserve();
    expect(ttl).toBeGreaterThan(115_000);
    expect(ttl).toBeLessThanOrEqual(120_000);
  });

  it('rejects a call whose arguments make no key, and does not run it', async () => {
    const ran = jest.fn();
    const stock = await bench.stockWith({ key: 'stock:#{#p0.sku}' }, ran);
    await expect(stock.reserve({})).rejects.toEqual(lockError('LOCK_KEY', '#p0.sku', { method: 'Stock.reserve' }));
    expect(ran).not.toHaveBeenCalled();
  });

  it('keeps name, length and metadata of the method, of decorators on both sides', async () => {
    @Injectable()
    class Stock {
      @SetMetadata('above', 1)
      @DistributedLock('stock:#sku')
      @SetMetadata('below', 2)
      async reserve(sku: string, amount: number): Promise<string> {
        return `${sku} ${amount}`;
      }
    }
    const method = Stock.prototype.reserve;
    expect(method.name).toBe('reserve');
    expect(method).toHaveLength(2);
    expect(Reflect.getMetadata('above', method)).toBe(1);
    expect(Reflect.getMetadata('below', method)).toBe(2);
    expect(Reflect.getMetadata('design:paramtypes', Stock.prototype, 'reserve')).toEqual([String, Number]);
  });

  it('does not affect spies and mocks of the instance', async () => {
    const stock = await bench.stockWith({});
    expect(JSON.stringify(stock)).toBe('{"shelf":9}');
    expect(Object.keys(stock)).toEqual(['shelf']);
  });

  describe('a key function that fails', () => {
    class Denied extends Error {}
    const rejection = async (key: (...args: any[]) => string): Promise<any> => {
      const stock = await bench.stockWith({ key });
      return stock.reserve().then(
        () => 'no error',
        (error: unknown) => error,
      );
    };
    const site = '@DistributedLock on Stock.reserve: the key function failed: ';

    it.each<[string, (...args: any[]) => string, string, unknown]>([
      ['a key that cannot be used', () => '', 'The lock key "" is empty', undefined],
      ['a value that cannot be in a key', (order) => lockKey`stock:${order}`, 'lockKey: value 1', undefined],
      ['a mistake in its code', (order) => order.sku, 'Cannot read properties of undefined', expect.any(TypeError)],
    ])('by %s', async (_what, key, message, cause) => {
      const error = await rejection(key);
      expect(error).toMatchObject({
        ...{ code: 'LOCK_KEY', method: 'Stock.reserve', message: expect.stringContaining(`${site}${message}`) },
        ...(cause !== undefined && { cause }),
      });
    });

    it('on purpose: the caller gets its error', async () => {
      const denied = new Denied('no tenant');
      expect(
        await rejection(() => {
          throw denied;
        }),
      ).toBe(denied);
    });
  });

  describe('condition', () => {
    it('runs without a lock if it returns false', async () => {
      const stock = await bench.stockWith({ condition: (amount: number) => amount > 1 }, () => findCurrentLock()?.key);
      expect([await stock.reserve(1), await stock.reserve(2)]).toEqual([undefined, 'stock:1']);
    });

    it.each([
      ['throws', () => { throw new Error('no idea'); }, 'no idea'], // prettier-ignore
      ['answers with a promise', (() => Promise.resolve(false)) as never, 'at once'],
    ])('rejects if it %s, and does not run the method', async (_case, condition, message) => {
      const ran = jest.fn();
      await expect((await bench.stockWith({ condition }, ran)).reserve()).rejects.toThrow(message);
      expect(ran).not.toHaveBeenCalled();
    });
  });

  describe('onContended', () => {
    it('throw: rejects with LockTimeoutError after waitTimeout', async () => {
      const stock = await bench.stockWith({ waitTimeout: 50 });
      await bench.occupy('stock:1');
      await expect(stock.reserve()).rejects.toEqual(
        lockError('LOCK_TIMEOUT', "@DistributedLock on Stock.reserve: 'stock:1' was held by other callers", {
          key: 'stock:1',
          method: 'Stock.reserve',
        }),
      );
      // On a busy machine Redis may not name the holder in time.
      const named = async () => (await stock.reserve().catch((error: LockTimeoutError) => error.holder)) !== undefined;
      await eventually(named, { what: 'the name of the holder' });
    });

    it('skip: returns undefined at once, without running', async () => {
      const ran = jest.fn();
      const stock = await bench.stockWith({ onContended: 'skip' }, ran);
      await bench.occupy('stock:1');
      const before = performance.now();
      expect(await stock.reserve()).toBeUndefined();
      expect(performance.now() - before).toBeLessThan(5_000);
      expect(ran).not.toHaveBeenCalled();
    });

    it.each([
      ["'throw'", 'throw', {}, 'timeout'],
      ["'skip'", 'skip', {}, 'skipped'],
      ['a function', () => 'instead', {}, 'skipped'],
      ["'skip' as a default of the module", undefined, { onContended: 'skip' }, 'skipped'],
      ["'throw' above 'skip' as a default", 'throw', { onContended: 'skip' }, 'timeout'],
    ] as const)('%s is reported as an event of its own', async (_how, onContended, defaults, expected) => {
      @Injectable()
      class Stock {
        constructor(readonly locks: LockService) {}
        @DistributedLock({ key: 'stock:1', waitTimeout: 20, ...(onContended && { onContended: onContended as any }) })
        async reserve(): Promise<any> {}
        @DistributedLock({ key: 'stock:1', waitTimeout: 20, ...(onContended && { onContended: onContended as any }) })
        watch(): Observable<any> {
          return of(1);
        }
      }
      const stock = await bench.make(Stock, { defaults });
      await bench.occupy('stock:1');
      const events: string[] = [];
      stock.locks.events.subscribe(({ type }) => events.push(type));
      await stock.reserve().catch(() => undefined);
      await stock.reserve().catch(() => undefined);
      await lastValueFrom(stock.watch(), { defaultValue: undefined }).catch(() => undefined);
      expect(events).toEqual(Array(3).fill(['contended', expected]).flat());
    });

    it('function: its value, by error, arguments and instance', async () => {
      const stock = await bench.stockWith({
        onContended(this: { shelf: number }, error: LockTimeoutError, sku: string) {
          return `${error.code} ${sku} ${this.shelf}`;
        },
      });
      await bench.occupy('stock:1');
      expect(await stock.reserve('a')).toBe('LOCK_TIMEOUT a 9');
    });

    it('a timeout of another lock inside the method is an error of the method', async () => {
      const locks = (await bench.boot()).get(LockService);
      const stock = await bench.stockWith({ onContended: 'skip' }, () => locks.acquire('stock:2', { waitTimeout: 0 }));
      await bench.occupy('stock:2');
      await expect(stock.reserve()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', key: 'stock:2' });
    });

    const skip = { onContended: 'skip' } as const;
    it.each([
      ['the method waits for the waitTimeout beside it', { ...skip, waitTimeout: '5s' }, {}, 'ran'],
      ['the module does not wait', {}, skip, undefined],
      ['the module waits for the waitTimeout beside it', {}, { ...skip, waitTimeout: '5s' }, 'ran'],
    ] as const)('skip of %s', async (_case, options, defaults, expected) => {
      const stock = await bench.stockWith(options, () => 'ran', { defaults });
      const other = await bench.occupy('stock:1');
      const reserved = stock.reserve();
      if (expected === undefined) expect(await reserved).toBeUndefined();
      await other.release();
      expect(await reserved).toBe(expected);
    });
  });

  it('onLost: rejects once the method has ended, with its value as result', async () => {
    const work = new Work<string>();
    const app = await bench.boot();
    const stock = await bench.stockWith({}, () => work.run());
    const result = stock.reserve();
    await work.begun;
    await app.get(LockService).forceRelease('stock:1');
    work.end.resolve('value');
    const about = { code: 'LOCK_LOST', key: 'stock:1', method: 'Stock.reserve' };
    await expect(result).rejects.toMatchObject({ ...about, result: 'value', cause: about });
  });

  it('rejects with LockConfigError if the method is synchronous', async () => {
    @Injectable()
    class Stock {
      @DistributedLock('stock:1')
      reserve(): any {
        return 5;
      }
    }
    const stock = await bench.make(Stock);
    await expect(stock.reserve()).rejects.toEqual(lockError('LOCK_CONFIG', 'make it async'));
  });
});

const held = async (): Promise<string | undefined> => findCurrentLock()?.key;

@Injectable()
class Plain {
  @DistributedLock('plain')
  work(): Promise<string | undefined> {
    return held();
  }
}

describe('instances with locked methods', () => {
  it.each([true, false])('request-scoped, of a class that has @UseLock, too (above: %s)', async (isAbove) => {
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {}
    class Handlers {
      @UseLock('one')
      @Get('one')
      handle(): void {}
    }
    @Controller()
    class Orders extends (isAbove ? Handlers : Object) {
      constructor(@Inject(Tenant) readonly tenant: Tenant) {
        super();
      }
      @DistributedLock('plain')
      async work(): Promise<string | undefined> {
        return held();
      }
      @UseLock('other')
      @Get('other')
      other(): void {}
    }
    const app = await bench.boot({ providers: [Tenant], controllers: [Orders] });
    expect(await (await app.resolve(Orders)).work()).toBe('plain');
  });

  it.each([
    ['request-scoped', Scope.REQUEST],
    ['transient', Scope.TRANSIENT],
  ])('%s', async (_name, scope) => {
    @Injectable({ scope })
    class Jobs {
      @DistributedLock('jobs')
      work(): Promise<string | undefined> {
        return held();
      }
    }
    const app = await bench.boot({ providers: [Jobs] });
    const [one, two] = [await app.resolve(Jobs), await app.resolve(Jobs, ContextIdFactory.create())];
    expect(one).not.toBe(two);
    expect([await one.work(), await two.work()]).toEqual(['jobs', 'jobs']);
  });

  it('inherited from an abstract class by a class with its own injections and locks', async () => {
    abstract class Base {
      @DistributedLock('base:#{#this.name}')
      work(): Promise<string | undefined> {
        return held();
      }
    }
    @Injectable()
    class Child extends Base {
      readonly name = 'child';
      @Inject(Plain) readonly plain!: Plain;
      @DistributedLock('more')
      more(): Promise<string | undefined> {
        return held();
      }
    }
    const child = (await bench.boot({ providers: [Plain, Child] })).get(Child);
    expect([await child.work(), await child.more(), await child.plain.work()]).toEqual(['base:child', 'more', 'plain']);
  });

  it('overridden: a call of super re-enters', async () => {
    @Injectable()
    class Child extends Plain {
      @DistributedLock('plain')
      override async work(): Promise<string | undefined> {
        return `${await super.work()}, held ${findCurrentLock()?.holdCount}`;
      }
    }
    expect(await (await bench.make(Child)).work()).toBe('plain, held 1');
  });

  it.each([
    ['useFactory', { provide: Plain, useFactory: () => new Plain() }],
    ['useFactory, asynchronous', { provide: Plain, useFactory: async () => new Plain() }],
    ['useValue', { provide: Plain, useValue: new Plain() }],
    ['useClass under another token', { provide: 'plain', useClass: Plain }],
  ])('from %s', async (_name, provider) => {
    const app = await bench.boot({ providers: [provider] });
    expect(await app.get<Plain>(provider.provide).work()).toBe('plain');
  });

  it('from useFactory are ready when other modules are initialised', async () => {
    let key: string | undefined;
    @Module({ providers: [{ provide: Plain, useFactory: () => new Plain() }] })
    class Feature {
      constructor(private readonly plain: Plain) {}
      async onModuleInit(): Promise<void> {
        key = await this.plain.work();
      }
    }
    await bench.boot({ imports: [Feature] });
    expect(key).toBe('plain');
  });

  it('from useFactory after the start reject, and say what to do', async () => {
    const provider = { provide: Plain, useFactory: () => new Plain() };
    @Module({ providers: [provider] })
    class Late {}
    const app = await bench.boot({ providers: [{ ...provider, scope: Scope.REQUEST }] });
    const late = await app.get(LazyModuleLoader).load(() => Late);
    for (const plain of [await app.resolve(Plain), late.get(Plain)]) {
      await expect(plain.work()).rejects.toEqual(
        lockError('LOCK_CONFIG', /by a factory for each request or in a lazy-loaded.*provide the class instead/),
      );
    }
  });

  it('in a module that is loaded later', async () => {
    @Module({ providers: [Plain] })
    class Late {}
    const app = await bench.boot();
    const late = await app.get(LazyModuleLoader).load(() => Late);
    expect(await late.get(Plain).work()).toBe('plain');
  });

  it('reject if they are frozen, rather than running unlocked', async () => {
    const app = await bench.boot({ providers: [{ provide: Plain, useFactory: () => Object.freeze(new Plain()) }] });
    await expect(app.get(Plain).work()).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
  });
});

@Injectable()
class Catalog {
  constructor(private readonly locks: LockService) {}

  @DistributedLock('stock:#{#sku}')
  reserve(sku: string): Promise<LockHolder> {
    return this.holder(`stock:${sku}`);
  }

  @DistributedLock({ key: (sku: string) => `stock:${sku}` })
  count(sku: string): Promise<LockHolder> {
    return this.holder(`stock:${sku}`);
  }

  @DistributedLock({ key: 'stock:#{#sku}', pattern: 'stock', onContended: 'skip' })
  async refresh(sku: string): Promise<LockHolder | undefined> {
    return this.holder(`stock:${sku}`);
  }

  private async holder(key: string): Promise<LockHolder> {
    return (await this.locks.inspect(key))!.holders[0]!;
  }
}

it('a holder says in which method it is, and its pattern', async () => {
  const stock = await bench.make(Catalog);
  expect(await stock.reserve('a')).toMatchObject({ pattern: 'stock:#{#sku}', method: 'Catalog.reserve' });
  expect(await stock.count('a')).toMatchObject({ pattern: undefined, method: 'Catalog.count' });
  expect(await stock.refresh('a')).toMatchObject({ pattern: 'stock', method: 'Catalog.refresh' });
});

it('another process reads the method from the record of the holder', async () => {
  const app = await bench.boot({ providers: [Catalog] }, { label: 'shop:1' });
  const observer = (await bench.boot({}, { label: 'shop:2' })).get(LockService);
  const locks = app.get(LockService);
  const service = app.get(Catalog);
  const blocker = await observer.acquire('stock:b');
  const waiting = service.reserve('b');
  await eventually(async () => {
    const [waiter] = (await observer.inspect('stock:b'))!.waiters;
    expect(waiter).toMatchObject({ label: 'shop:1', method: 'Catalog.reserve', client: locks.clientId });
    return true;
  });
  await blocker.release();
  await waiting;
});

it('a process logs its client id, its label and its prefix once at start', async () => {
  const lines: string[] = [];
  const log = (line: unknown): void => void lines.push(String(line));
  const app = await NestFactory.createApplicationContext(bench.locks({ label: 'shop:1', keyPrefix: 'shop' }), {
    logger: { log, warn: log, error: log },
  });
  bench.closeLater(app);
  const { clientId } = app.get(LockService);
  await app.get(LockService).run('a', () => undefined);
  const own = lines.filter((line) => line.includes(clientId));
  expect(own).toEqual([`locks 'default': client ${clientId}, label shop:1, prefix 'shop'`]);
});

@Injectable()
class Stock {
  constructor(private readonly locks: LockService) {}

  @DistributedLock({ key: 'stock', kind: 'read' })
  read(): Promise<unknown> {
    return this.holder('stock');
  }

  @DistributedLock({ key: 'stock', kind: 'write' })
  write(): Promise<unknown> {
    return this.holder('stock');
  }

  @DistributedLock({ key: 'stock', permits: 5, units: 2 })
  heavy(): Promise<unknown> {
    return this.holder('stock');
  }

  @DistributedLock({ key: 'stock', fair: true })
  async standInLine(): Promise<void> {}

  @DistributedLock({ key: ['from:#{#p0}', 'to:#{#p1}'], waitTimeout: 0 })
  async transfer(_from: string, _to: string): Promise<string[]> {
    return [...currentLock().keys];
  }

  @DistributedLock({ key: (...skus: string[]) => skus.map((sku) => `sku:${sku}`) })
  async all(..._skus: string[]): Promise<ReadonlyMap<string, number>> {
    return currentLock().fencingTokens;
  }

  private async holder(key: string): Promise<unknown> {
    return (await this.locks.inspect(key))!.holders[0];
  }
}

describe('@DistributedLock of a kind', () => {
  it('holds the lock as its kind and units say, and waits in the queue of fair callers', async () => {
    const stock = await bench.make(Stock);
    expect(await stock.read()).toMatchObject({ kind: 'read' });
    expect(await stock.write()).toMatchObject({ kind: 'exclusive' });
    expect(await stock.heavy()).toMatchObject({ kind: 'permits', units: 2 });
    const other = await bench.occupy('stock');
    const waiting = stock.standInLine();
    await eventually(async () => (await bench.redis.admin.hget('lock:waiters:{stock}', 'fair')) === '1');
    await other.release();
    await waiting;
  });

  it('a list of keys: acquires all or none, and currentLock() has them', async () => {
    const stock = await bench.make(Stock);
    expect(await stock.transfer('a', 'b')).toEqual(['from:a', 'to:b']);
    const taken = await bench.occupy('to:b');
    await expect(stock.transfer('a', 'b')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(await bench.redis.admin.exists('lock:state:{from:a}')).toBe(0);
    await taken.release();
    expect(await stock.transfer('a', 'b')).toEqual(['from:a', 'to:b']);
    await expect(stock.transfer('a', '')).rejects.toMatchObject({ code: 'LOCK_KEY' });
  });

  it('a key function that returns a list', async () => {
    const stock = await bench.make(Stock);
    const tokens = await stock.all('1', '2', '1');
    expect([...tokens.keys()]).toEqual(['sku:1', 'sku:2']);
    await expect(stock.all()).rejects.toEqual(lockError('LOCK_KEY', 'Stock.all'));
  });
});

describe("release: 'background'", () => {
  let proxy: RespProxy;

  beforeEach(async () => {
    proxy = await RespProxy.start(bench.redis);
  });
  afterEach(() => proxy.close());

  /** From now on no call gets an answer of Redis. */
  const silence = (): void => proxy.holdReplies();

  @Injectable()
  @Controller()
  class Answers {
    @DistributedLock({ key: 'promise', release: 'background' })
    async promise(): Promise<string> {
      silence();
      return 'done';
    }

    @DistributedLock({ key: 'observable', release: 'background', returns: 'observable' })
    observable(): Observable<string> {
      return of('done').pipe(tap(silence));
    }

    @DistributedLock({ key: 'default' })
    async byDefault(): Promise<string> {
      silence();
      return 'done';
    }

    @Get('handler')
    @UseLock({ key: 'handler', release: 'background' })
    handler(): string {
      silence();
      return 'done';
    }
  }

  async function start(defaults: LockDefaults = {}): Promise<INestApplication> {
    const builder = bench.build({ controllers: [Answers] }, { connection: proxy.url, defaults });
    const { app } = await bench.listen(builder, { forceCloseConnections: false });
    // The server knows the scripts from here on.
    await app.get(LockService).run('warm', () => undefined);
    return app;
  }

  /** The release has reached Redis, although no answer has come back. */
  const released = (key: string): Promise<void> =>
    eventuallyPasses(async () => expect(await bench.redis.admin.exists(redisKey('state', key))).toBe(0));

  it.each<[string, LockDefaults | undefined, string, (app: INestApplication) => Promise<unknown>]>([
    ['a method that returns a promise', undefined, 'promise', (app) => app.get(Answers).promise()],
    [
      'a method that returns an Observable',
      undefined,
      'observable',
      (app) => lastValueFrom(app.get(Answers).observable()),
    ],
    ['one by the default', { release: 'background' }, 'default', (app) => app.get(Answers).byDefault()],
    ['a request handler', undefined, 'handler', async (app) => (await fetch(`${await app.getUrl()}/handler`)).text()],
  ])('%s answers before Redis has answered its release', async (_what, defaults, key, call) => {
    const app = await start(defaults);
    expect(await call(app)).toBe('done');
    await released(key);
    proxy.heal();
  });
});
