import { Injectable, Controller, Get, Param, type INestApplicationContext, type Provider } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { findCurrentLock, DistributedLock, LockKeyError, methodKey, UseLock } from 'nestjs-redis-locks';
import { lastValueFrom, of, type Observable } from 'rxjs';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { NestBench } from './support.js';

const bench = new NestBench();
/** The keys under which something ran. */
let ran = deferred<string | undefined>();
const tell = (): void => ran.resolve(findCurrentLock()?.key);

const FAR = '0 0 1 1 *';

@Injectable()
class Jobs {
  @Cron(FAR, { name: 'above' })
  @DistributedLock('cron:above')
  async above(): Promise<void> {
    tell();
  }

  @DistributedLock('cron:below')
  @Cron(FAR, { name: 'below' })
  async below(): Promise<void> {
    tell();
  }

  @DistributedLock('interval')
  @Interval('often', 20)
  async often(): Promise<void> {
    tell();
  }

  @OnEvent('event.above')
  @DistributedLock('event:#{#event.id}')
  async onAbove(event: { id: number }): Promise<void> {
    if (event.id > 0) tell();
  }

  @DistributedLock('event:#{#event.id}')
  @OnEvent('event.below')
  async onBelow(event: { id: number }): Promise<void> {
    if (event.id > 0) tell();
  }
}

const factory = { provide: Jobs, useFactory: () => new Jobs() };
const boot = (providers: Provider[]) => {
  ran = deferred();
  return bench.boot({ imports: [ScheduleModule.forRoot(), EventEmitterModule.forRoot()], providers });
};

describe('other decorators on a locked method', () => {
  const fire = (name: string) => (app: INestApplicationContext) => {
    void app.get(SchedulerRegistry).getCronJob(name).fireOnTick();
  };
  const emit = (name: string) => (app: INestApplicationContext) => app.get(EventEmitter2).emit(name, { id: 7 });

  it.each<[string, (app: INestApplicationContext) => unknown, key: string, providers: Provider[]]>([
    ['@Cron above', fire('above'), 'cron:above', [Jobs]],
    ['@Cron below', fire('below'), 'cron:below', [Jobs]],
    ['@Interval', () => undefined, 'interval', [Jobs]],
    ['@OnEvent above', emit('event.above'), 'event:7', [Jobs]],
    ['@OnEvent below', emit('event.below'), 'event:7', [Jobs]],
    ['@Cron on an instance from useFactory', fire('above'), 'cron:above', [factory]],
  ])('%s', async (_, happen, locked, providers) => {
    happen(await boot(providers));
    expect(await ran).toBe(locked);
  });
});

const key = (): string | undefined => findCurrentLock()?.key;

/** What happened, in order. */
let steps: string[];
beforeEach(() => void (steps = []));

/** Wraps as @nestjs-cls/transactional does: in a proxy that has the metadata of the method. */
function Transactional(_: object, __: string, descriptor: PropertyDescriptor): void {
  const inner = descriptor.value as (...args: unknown[]) => Promise<unknown>;
  const wrapper = new Proxy(inner, {
    apply: async (target, self, args) => {
      const result = await Reflect.apply(target, self, args);
      steps.push(`commit in ${key()}`);
      return result;
    },
  });
  for (const name of Reflect.getMetadataKeys(inner)) {
    Reflect.defineMetadata(name, Reflect.getMetadata(name, inner), wrapper);
  }
  descriptor.value = wrapper;
}

/** Wraps as typeorm-transactional does. */
function Wrapped(_: object, __: string, descriptor: PropertyDescriptor): void {
  const inner = descriptor.value as (...args: unknown[]) => unknown;
  descriptor.value = function (this: unknown, ...args: unknown[]) {
    return inner.apply(this, args);
  };
}

describe('a lock and another decorator that wraps the method', () => {
  it('above @Transactional, a template has the names, and the lock is held until after the commit', async () => {
    @Injectable()
    class Stock {
      @DistributedLock('stock:#{#sku}')
      @Transactional
      async reserve(sku: string): Promise<string | undefined> {
        return sku && key();
      }
    }
    const stock = await bench.make(Stock);
    expect(await stock.reserve('a')).toBe('stock:a');
    expect(steps).toEqual(['commit in stock:a']);
    expect(bench.warnings).toEqual([]);
  });

  it('below @Transactional, a warning says that the lock ends before the commit', async () => {
    @Injectable()
    class Stock {
      @Transactional
      @DistributedLock('stock:#{#sku}')
      async reserve(sku: string): Promise<string | undefined> {
        return sku && key();
      }
    }
    const stock = await bench.make(Stock);
    expect(await stock.reserve('a')).toBe('stock:a');
    expect(steps).toEqual(['commit in undefined']);
    expect(bench.warnings).toEqual([
      '@DistributedLock on Stock.reserve: a decorator above it wraps the method, so the lock is released before the work ' +
        'of that decorator ends. If it is a transaction, the next holder reads data from before the commit: write ' +
        '@DistributedLock above the other decorator.',
    ]);
  });

  it('several locks, and a wrapper between them', async () => {
    @Injectable()
    class Stock {
      @DistributedLock('outer:#{#sku}:#{#qty}')
      @Wrapped
      @DistributedLock('inner:#{#sku}')
      async reserve(sku: string, qty = 1): Promise<string | undefined> {
        return `${sku} ${qty} ${key()}`;
      }
    }
    const stock = await bench.make(Stock);
    expect(await stock.reserve('a', 2)).toBe('a 2 inner:a');
    expect(bench.warnings).toEqual([]);
  });

  it('without names to find, the error says what to write', () => {
    const define = (): unknown => {
      const name = 'reserve';
      class Stock {
        @DistributedLock('stock:#{#sku}')
        @Wrapped
        async [name](sku: string): Promise<string> {
          return sku;
        }
      }
      return Stock;
    };
    expect(define).toThrow(LockKeyError);
    expect(define).toThrow(
      'there is no #sku here, but #args, #p0, #this, #root; compilers lose parameter names for targets below ES2017, ' +
        'minifiers and bundlers rename them, and wrappers of other decorators hide them: write #p0 for the first argument',
    );
  });
});

describe('a subclass', () => {
  class Job {
    @DistributedLock({ key: 'job:#{#root.className}', onContended: 'throw' })
    async run(): Promise<string | undefined> {
      return key();
    }

    @DistributedLock(methodKey('jobs'))
    async nightly(): Promise<string | undefined> {
      return key();
    }
  }

  it('has its own name in keys of inherited methods', async () => {
    @Injectable()
    class Invoices extends Job {}
    const invoices = await bench.make(Invoices);
    expect(await invoices.run()).toBe('job:Invoices');
    expect(await invoices.nightly()).toBe('jobs:Invoices.nightly');
    expect(bench.warnings).toEqual([]);
  });

  it('that overrides a locked method without the decorator causes a warning', async () => {
    @Injectable()
    class Reports extends Job {
      override async run(): Promise<string | undefined> {
        return key();
      }
    }
    const reports = await bench.make(Reports);
    expect(await reports.run()).toBeUndefined();
    expect(bench.warnings).toEqual([
      '@DistributedLock on Job.run: Reports overrides the method without the decorator, so its calls take no lock: write ' +
        'the decorator above the override, too, or call the method of the base class there.',
    ]);
  });

  it('that overrides a locked method with a lock causes no warning', async () => {
    @Injectable()
    class Reports extends Job {
      @DistributedLock('reports')
      override async run(): Promise<string | undefined> {
        return key();
      }

      override async nightly(): Promise<string | undefined> {
        return super.nightly();
      }
    }
    const reports = await bench.make(Reports);
    expect(await reports.run()).toBe('reports');
    expect(await reports.nightly()).toBe('jobs:Reports.nightly');
    expect(bench.warnings).toEqual([]);
  });

  it('that overrides a locked handler causes a warning', async () => {
    class Orders {
      @Get(':id')
      @UseLock('order:#{#params.id}')
      pay(@Param('id') id: string): string {
        return id;
      }
    }
    @Controller('paid')
    class Paid extends Orders {
      @Get(':id')
      override pay(id: string): string {
        return id;
      }
    }
    await bench.boot({ controllers: [Paid] });
    expect(bench.warnings).toEqual([expect.stringContaining('@UseLock on Orders.pay: Paid overrides the method')]);
  });
});

it('a key function that returns a promise is refused, and its rejection is handled', async () => {
  const stock = await bench.stockWith({ key: (sku: string) => Promise.reject(new Error(sku)) });
  await expect(stock.reserve('a')).rejects.toThrow(
    '@DistributedLock on Stock.reserve: the key function failed: it returned a promise, but keys are made synchronously: ' +
      'pass what it waits for as an argument of the method, or await it in the method and lock there with LockService.run.',
  );
});

it('a method whose return type a bundler has dropped causes a warning, unless it is async or has the option returns', async () => {
  class Prices {
    watch(): Observable<number> {
      return of(1);
    }
    told(): Observable<number> {
      return of(1);
    }
    async read(): Promise<number> {
      return 1;
    }
  }
  // A decorator that is called as a function gets no types, as esbuild compiles it.
  const decorate = (name: keyof Prices, options: object): void => {
    const descriptor = Object.getOwnPropertyDescriptor(Prices.prototype, name)!;
    (DistributedLock({ key: name, ...options }) as unknown as MethodDecorator)(Prices.prototype, name, descriptor);
    Object.defineProperty(Prices.prototype, name, descriptor);
  };
  decorate('watch', {});
  decorate('told', { returns: 'observable' });
  decorate('read', {});
  // A second lock sees the first one, not the method.
  for (const name of ['told', 'read'] as const) decorate(name, { key: `second ${name}` });
  const prices = await bench.make(Prices);
  expect(bench.warnings).toEqual([
    '@DistributedLock on Prices.watch: the compiler or bundler has dropped the return type, so the method has to return a ' +
      "promise: make it async, or write returns: 'promise'. If it returns an Observable, write returns: 'observable'.",
  ]);
  expect(await lastValueFrom(prices.told())).toBe(1);
  expect(await prices.read()).toBe(1);
});
