import { Injectable, SetMetadata, applyDecorators } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { lastValueFrom, Observable, of } from 'rxjs';
import {
  currentLock,
  findCurrentLock,
  DistributedLock,
  lockKey,
  LockService,
  type LockTimeoutError,
} from 'nestjs-redis-locks';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { NestBench, Section, Work } from './support.js';

const bench = new NestBench();
const others = (section: Section, call: () => Promise<unknown>, times = 6) =>
  Promise.all(Array.from({ length: times }, call)).then(() => section);

describe('@DistributedLock', () => {
  it('lets one call run at a time for each key', async () => {
    @Injectable()
    class Stock {
      section = new Section();
      @DistributedLock({ key: 'stock:#{#order.sku}' })
      reserve(order: { sku: string }): Promise<number> {
        expect(order.sku).toBe('a');
        return this.section.pass();
      }
    }
    const stock = await bench.make(Stock);
    const { most, entries } = await others(stock.section, () => stock.reserve({ sku: 'a' }));
    expect({ most, entries }).toEqual({ most: 1, entries: 6 });
  });

  it('lets calls with different keys run in parallel', async () => {
    @Injectable()
    class Stock {
      @DistributedLock('stock:#sku')
      async reserve(sku: string, work: Work<string>): Promise<string> {
        return `${sku} ${await work.run()}`;
      }
    }
    const stock = await bench.make(Stock);
    const [a, b] = [new Work<string>(), new Work<string>()];
    const both = Promise.all([stock.reserve('a', a), stock.reserve('b', b)]);
    await Promise.all([a.begun, b.begun]);
    a.end.resolve('done');
    b.end.resolve('too');
    expect(await both).toEqual(['a done', 'b too']);
  });

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

  it('calls a key function with the instance and the arguments', async () => {
    @Injectable()
    class Stock {
      @DistributedLock({ key: (sku: string, shelf: number) => `stock:${sku}:${shelf}` })
      async reserve(_sku: string, _shelf: number): Promise<string | undefined> {
        return findCurrentLock()?.key;
      }
    }
    expect(await (await bench.make(Stock)).reserve('a', 7)).toBe('stock:a:7');
  });

  it('rejects a call whose arguments make no key, and does not run it', async () => {
    const ran = jest.fn();
    @Injectable()
    class Stock {
      @DistributedLock('stock:#{#order.sku}')
      async reserve(order: { sku?: string }): Promise<void> {
        ran(order);
      }
    }
    const stock = await bench.make(Stock);
    await expect(stock.reserve({})).rejects.toMatchObject({
      ...{ code: 'LOCK_KEY', method: 'Stock.reserve' },
      message: expect.stringContaining('#order.sku'),
    });
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

  it('works within applyDecorators', async () => {
    const Guarded = () =>
      applyDecorators(SetMetadata('guarded', true), DistributedLock('stock:1'), SetMetadata('late', 1));
    @Injectable()
    class Stock {
      section = new Section();
      @Guarded()
      async reserve(): Promise<number> {
        return this.section.pass();
      }
    }
    const stock = await bench.make(Stock);
    expect((await others(stock.section, () => stock.reserve())).most).toBe(1);
    expect(Reflect.getMetadata('late', Stock.prototype.reserve)).toBe(1);
  });

  it('reads parameter names through a lock below it', async () => {
    @Injectable()
    class Transfers {
      @DistributedLock('account:#from')
      @DistributedLock('account:#to')
      async transfer(from: string, to: string): Promise<Array<string | undefined>> {
        return [findCurrentLock()?.key, findCurrentLock(`account:${from}`)?.key, findCurrentLock(`account:${to}`)?.key];
      }
    }
    const keys = await (await bench.make(Transfers)).transfer('a', 'b');
    expect(keys).toEqual(['account:b', 'account:a', 'account:b']);
  });

  it('does not affect spies and mocks of the instance', async () => {
    @Injectable()
    class Stock {
      readonly shelf = 1;
      @DistributedLock('stock:1')
      async reserve(): Promise<void> {}
    }
    const stock = await bench.make(Stock);
    expect(JSON.stringify(stock)).toBe('{"shelf":1}');
    expect(Object.keys(stock)).toEqual(['shelf']);
  });

  it('gives the running method its lock', async () => {
    @Injectable()
    class Stock {
      @DistributedLock('stock:1')
      async reserve() {
        const lock = currentLock();
        await lock.verify();
        return { key: lock.key, held: lock.isHeld, aborted: lock.signal.aborted, other: findCurrentLock('stock:2') };
      }
    }
    const stock = await bench.make(Stock);
    expect(await stock.reserve()).toEqual({ key: 'stock:1', held: true, aborted: false, other: undefined });
    expect(findCurrentLock()).toBeUndefined();
  });

  describe('a key function that fails', () => {
    class Denied extends Error {}
    const rejection = async (key: (...args: any[]) => string): Promise<any> => {
      @Injectable()
      class Stock {
        @DistributedLock({ key })
        async reserve(_order?: { sku: string }): Promise<void> {}
      }
      const stock = await bench.make(Stock);
      return stock.reserve().then(
        () => 'no error',
        (error: unknown) => error,
      );
    };
    const site = '@DistributedLock on Stock.reserve: the key function failed: ';

    it('by a key that cannot be used', async () => {
      const error = await rejection(() => '');
      expect(error).toMatchObject({
        ...{ code: 'LOCK_KEY', method: 'Stock.reserve' },
        message: expect.stringContaining(`${site}The lock key "" is empty`),
      });
    });

    it('by a value that cannot be in a key', async () => {
      const error = await rejection((order) => lockKey`stock:${order}`);
      expect(error).toMatchObject({ code: 'LOCK_KEY', message: expect.stringContaining(`${site}lockKey: value 1`) });
    });

    it('by a mistake in its code', async () => {
      const error = await rejection((order) => order.sku);
      expect(error).toMatchObject({
        ...{ code: 'LOCK_KEY', method: 'Stock.reserve' },
        message: expect.stringContaining(`${site}Cannot read properties of undefined`),
        cause: expect.any(TypeError),
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
      @Injectable()
      class Stock {
        @DistributedLock({ key: 'stock:1', condition: (amount: number) => amount > 1 })
        async reserve(_amount: number): Promise<string | undefined> {
          return findCurrentLock()?.key;
        }
      }
      const stock = await bench.make(Stock);
      expect([await stock.reserve(1), await stock.reserve(2)]).toEqual([undefined, 'stock:1']);
    });

    it.each([
      ['throws', () => { throw new Error('no idea'); }, 'no idea'], // prettier-ignore
      ['answers with a promise', (() => Promise.resolve(false)) as never, 'at once'],
    ])('rejects if it %s, and does not run the method', async (_case, condition, message) => {
      const ran = jest.fn();
      @Injectable()
      class Stock {
        @DistributedLock({ key: 'stock:1', condition })
        async reserve(): Promise<void> {
          ran();
        }
      }
      await expect((await bench.make(Stock)).reserve()).rejects.toThrow(message);
      expect(ran).not.toHaveBeenCalled();
    });
  });

  describe('onContended', () => {
    it('throw: rejects with LockTimeoutError after waitTimeout', async () => {
      @Injectable()
      class Stock {
        @DistributedLock({ key: 'stock:1', waitTimeout: 50 })
        async reserve(): Promise<void> {}
      }
      const stock = await bench.make(Stock);
      await bench.occupy('stock:1');
      await expect(stock.reserve()).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
        key: 'stock:1',
        method: 'Stock.reserve',
        message: expect.stringContaining("@DistributedLock on Stock.reserve: 'stock:1' was held by other callers"),
      });
      // On a busy machine Redis may not name the holder in time.
      const named = async () => (await stock.reserve().catch((error: LockTimeoutError) => error.holder)) !== undefined;
      await eventually(named, { what: 'the name of the holder' });
    });

    it('skip: returns undefined at once, without running', async () => {
      const ran = jest.fn();
      @Injectable()
      class Stock {
        @DistributedLock({ key: 'stock:1', onContended: 'skip' })
        async reserve(): Promise<void> {
          ran();
        }
      }
      const stock = await bench.make(Stock);
      await bench.occupy('stock:1');
      const before = performance.now();
      expect(await stock.reserve()).toBeUndefined();
      expect(performance.now() - before).toBeLessThan(5_000);
      expect(ran).not.toHaveBeenCalled();
    });

    it('skip: waits if waitTimeout is given as well', async () => {
      @Injectable()
      class Stock {
        @DistributedLock({ key: 'stock:1', onContended: 'skip', waitTimeout: '5s' })
        async reserve(): Promise<string | undefined> {
          return 'ran';
        }
      }
      const stock = await bench.make(Stock);
      const other = await bench.occupy('stock:1');
      const reserved = stock.reserve();
      await other.release();
      expect(await reserved).toBe('ran');
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
      @Injectable()
      class Stock {
        shelf = 9;
        @DistributedLock({
          key: 'stock:1',
          onContended(this: Stock, error, sku: string) {
            return `${error.code} ${sku} ${this.shelf}`;
          },
        })
        async reserve(_sku: string): Promise<string> {
          return 'ran';
        }
      }
      const stock = await bench.make(Stock);
      await bench.occupy('stock:1');
      expect(await stock.reserve('a')).toBe('LOCK_TIMEOUT a 9');
    });

    it('a timeout of another lock inside the method is an error of the method', async () => {
      @Injectable()
      class Stock {
        constructor(private readonly locks: LockService) {}
        @DistributedLock({ key: 'stock:1', onContended: 'skip' })
        async reserve(): Promise<void> {
          await this.locks.acquire('stock:2', { waitTimeout: 0 });
        }
      }
      const stock = await bench.make(Stock);
      await bench.occupy('stock:2');
      await expect(stock.reserve()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', key: 'stock:2' });
    });

    it.each([
      ['does not wait', {}, undefined],
      ['waits for the waitTimeout beside it', { waitTimeout: '5s' }, 'ran'],
    ] as const)('skip as a default of the module %s', async (_case, wait, expected) => {
      @Injectable()
      class Stock {
        @DistributedLock('stock:1')
        async reserve(): Promise<string> {
          return 'ran';
        }
      }
      const stock = await bench.make(Stock, { defaults: { onContended: 'skip', ...wait } });
      const other = await bench.occupy('stock:1');
      const reserved = stock.reserve();
      if (expected === undefined) expect(await reserved).toBeUndefined();
      await other.release();
      expect(await reserved).toBe(expected);
    });
  });

  describe('onLost', () => {
    class Jobs {
      lost: unknown;
      work = new Work<string>();
      @DistributedLock('job')
      throwing(): Promise<string> {
        return this.work.run();
      }
      @DistributedLock({ key: 'job', onLost: 'ignore' })
      ignoring(): Promise<string> {
        return this.work.run();
      }
      @DistributedLock({ key: 'job', onLost: (error, lock) => lostTo(`${error.code} ${lock.key}`) })
      telling(): Promise<string> {
        return this.work.run();
      }
    }
    let lostTo: (what: string) => void;

    async function losing(method: 'throwing' | 'ignoring' | 'telling') {
      const app = await bench.boot({ providers: [Jobs] });
      const jobs = app.get(Jobs);
      const told = new Promise<string>((resolve) => (lostTo = resolve));
      const result = jobs[method]();
      await jobs.work.begun;
      await app.get(LockService).forceRelease('job');
      return { jobs, result, told };
    }

    it('throw: rejects once the method has ended, with its value as result', async () => {
      const { jobs, result } = await losing('throwing');
      jobs.work.end.resolve('value');
      const about = { code: 'LOCK_LOST', key: 'job', method: 'Jobs.throwing' };
      await expect(result).rejects.toMatchObject({ ...about, result: 'value', cause: about });
    });

    it('throw: the error of the method wins', async () => {
      const { jobs, result } = await losing('throwing');
      jobs.work.end.reject(new Error('out of stock'));
      await expect(result).rejects.toThrow('out of stock');
    });

    it('ignore: the caller gets the value', async () => {
      const { jobs, result } = await losing('ignoring');
      jobs.work.end.resolve('value');
      expect(await result).toBe('value');
    });

    it('function: called while the method runs, and the caller still gets the error', async () => {
      const { jobs, result, told } = await losing('telling');
      expect(await told).toBe('LOCK_LOST job');
      jobs.work.end.resolve('value');
      await expect(result).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'value' });
    });
  });

  it('rejects on an instance that has no service, and does not run', async () => {
    const ran = jest.fn();
    class Stock {
      @DistributedLock('stock:1')
      async reserve(): Promise<void> {
        ran();
      }
    }
    const stock = new Stock();
    await expect(stock.reserve()).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringMatching(/Stock\.reserve: this instance has no LockService.*nestjs-redis-locks\/testing/),
    });
    const { reserve } = stock;
    await expect(reserve()).rejects.toThrow('called without its instance');
    expect(ran).not.toHaveBeenCalled();
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
    await expect(stock.reserve()).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining('make it async'),
    });
  });
});
