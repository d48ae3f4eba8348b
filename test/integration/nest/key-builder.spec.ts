import { AsyncLocalStorage } from 'node:async_hooks';
import { Controller, Get, Injectable, Param } from '@nestjs/common';
import {
  currentLock,
  findCurrentLock,
  DistributedLock,
  LockService,
  methodKey,
  UseLock,
  type KeyBuilder,
} from 'nestjs-redis-locks';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { NestBench, Work } from './support.js';

const bench = new NestBench();

/** What nestjs-cls keeps for a request. */
const context = new AsyncLocalStorage<string>();
const byTenant: KeyBuilder = (key) => `${context.getStore()}:${key}`;

@Injectable()
class Stock {
  work: Work = new Work();
  key: string | undefined;

  @DistributedLock({ key: 'stock:#{#_sku}', onContended: 'skip' })
  async reserve(_sku: string): Promise<string | undefined> {
    this.key = findCurrentLock()?.key;
    await this.work.run();
    return `done for ${context.getStore()}`;
  }

  @DistributedLock({ key: ['a', 'b'] })
  async several(): Promise<readonly string[]> {
    return currentLock().keys;
  }

  @DistributedLock(methodKey('jobs'), '30s')
  async nightly(): Promise<string> {
    return currentLock().key;
  }
}

describe('keyBuilder of the module', () => {
  it('keeps the tenants of nestjs-cls apart, and excludes calls of one tenant', async () => {
    const app = await bench.boot({ providers: [Stock] }, { keyBuilder: byTenant });
    const stock = app.get(Stock);
    const reserve = (tenant: string) => context.run(tenant, () => stock.reserve('lamp'));
    const first = reserve('acme');
    await stock.work.begun;
    expect(stock.key).toBe('acme:stock:lamp');
    expect(await reserve('acme')).toBeUndefined();
    const firstWork = stock.work;
    stock.work = new Work();
    stock.work.end.resolve();
    expect(await reserve('other')).toBe('done for other');
    expect(stock.key).toBe('other:stock:lamp');
    firstWork.end.resolve();
    expect(await first).toBe('done for acme');
  });

  it('sees the class, the method and the arguments, and builds each of several keys', async () => {
    const calls: unknown[] = [];
    const keyBuilder: KeyBuilder = (key, { className, methodName, args }) => {
      calls.push([key, className, methodName, args]);
      return `built:${key}`;
    };
    const stock = await bench.make(Stock, { keyBuilder });
    stock.work.end.resolve();
    await stock.reserve('a b');
    expect(await stock.several()).toEqual(['built:a', 'built:b']);
    expect(calls).toEqual([
      ['stock:a%20b', 'Stock', 'reserve', ['a b']],
      ['a', 'Stock', 'several', []],
      ['b', 'Stock', 'several', []],
    ]);
  });

  it('does not apply to keys in code', async () => {
    const app = await bench.boot({}, { keyBuilder: (key) => `built:${key}` });
    expect(await app.get(LockService).run('a', ({ key }) => key)).toBe('a');
  });

  it('applies to handlers', async () => {
    @Controller()
    class Orders {
      @Get(':id')
      @UseLock('order:#{#params.id}')
      get(@Param('id') _id: string): string | undefined {
        return findCurrentLock()?.key;
      }
    }
    const builder = bench.build({ controllers: [Orders] }, { keyBuilder: byTenant });
    const tenantOf = (request: { headers: Record<string, string> }, _: unknown, next: () => void) =>
      context.run(request.headers['x-tenant']!, next);
    const { url } = await bench.listen(builder, { prepare: (app) => app.use(tenantOf) });
    const response = await fetch(`${url}/7`, { headers: { 'x-tenant': 'acme' } });
    expect(await response.text()).toBe('acme:order:7');
  });

  it.each<[what: string, built: () => unknown, message: string]>([
    [
      'no text',
      () => undefined,
      "@DistributedLock on Stock.nightly: the keyBuilder of the module failed: A lock key must be a string; this one is undefined: write a string, such as 'stock:42'.",
    ],
    [
      'an empty text',
      () => '',
      `@DistributedLock on Stock.nightly: the keyBuilder of the module failed: The lock key "" is empty: write a string, such as 'stock:42'.`,
    ],
    [
      'a mistake',
      () => (undefined as unknown as { id: string }).id,
      "@DistributedLock on Stock.nightly: the keyBuilder of the module failed: Cannot read properties of undefined (reading 'id')",
    ],
  ])('fails the call, which does not run, for %s', async (_, built, message) => {
    const stock = await bench.make(Stock, { keyBuilder: built as KeyBuilder });
    await expect(stock.nightly()).rejects.toMatchObject({ code: 'LOCK_KEY', method: 'Stock.nightly', message });
  });

  it('passes on an error that it throws on purpose', async () => {
    class NoTenant extends Error {}
    const stock = await bench.make(Stock, {
      keyBuilder: () => {
        throw new NoTenant('there is no tenant');
      },
    });
    await expect(stock.nightly()).rejects.toBeInstanceOf(NoTenant);
  });
});

describe('methodKey', () => {
  it('is made of the prefix, the class and the method', async () => {
    expect(await (await bench.make(Stock)).nightly()).toBe('jobs:Stock.nightly');
  });

  it('refuses a class without a name, and a method that is named by a symbol', () => {
    const anonymous = (() => class {})();
    const onAnonymous = (): void =>
      DistributedLock(methodKey('jobs'))(anonymous.prototype, 'run', { value: async () => undefined });
    expect(onAnonymous).toThrow(
      "@DistributedLock on an anonymous class.run: methodKey needs a class and a method that have names: write a text such as key: 'jobs:nightly'.",
    );
    const work = Symbol('work');
    expect(() => {
      class Jobs {
        @DistributedLock({ key: methodKey('jobs') })
        async [work](): Promise<void> {}
      }
      return Jobs;
    }).toThrow(/methodKey needs a class and a method that have names/);
  });

  it.each([undefined, '', ' ', 5])('refuses %p as a prefix', (prefix) => {
    expect(() => methodKey(prefix as never)).toThrow(
      "methodKey takes a prefix that tells applications apart: write methodKey('jobs').",
    );
  });
});

describe("the caller's async context", () => {
  it('is present in the locked method, in onLost and in listeners of the signal, outside the lost lock', async () => {
    const seen: Record<string, unknown> = {};
    const see = (where: string): void => {
      seen[where] = [context.getStore(), findCurrentLock()?.key];
    };
    class Jobs {
      readonly work = new Work();
      @DistributedLock({ key: 'job', onLost: () => see('onLost') })
      async run(): Promise<void> {
        see('method');
        currentLock().signal.addEventListener('abort', () => see('signal'));
        await this.work.run();
      }
    }
    const app = await bench.boot({ providers: [Jobs] });
    const [jobs, locks] = [app.get(Jobs), app.get(LockService)];
    const lost = context.run('acme', () => jobs.run());
    await jobs.work.begun;
    // By a caller of another tenant: its context does not count.
    await context.run('operator', () => locks.forceRelease('job'));
    await eventually(() => seen['onLost'] !== undefined && seen['signal'] !== undefined);
    jobs.work.end.resolve();
    await expect(lost).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(seen).toEqual({ method: ['acme', 'job'], signal: ['acme', undefined], onLost: ['acme', undefined] });
  });

  it('is present in listeners of the signal of several locks', async () => {
    const app = await bench.boot();
    const locks = app.get(LockService);
    let seen: unknown;
    await context.run('acme', async () => {
      const handle = await locks.acquire(['a', 'b']);
      handle.signal.addEventListener('abort', () => (seen = context.getStore()));
    });
    await locks.forceRelease('b');
    await eventually(() => seen !== undefined);
    expect(seen).toBe('acme');
    await locks.forceRelease('a');
  });
});
