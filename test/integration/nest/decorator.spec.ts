import { Injectable, SetMetadata } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { lastValueFrom, Observable, of } from 'rxjs';
import { findCurrentLock, DistributedLock, lockKey, LockService, type LockTimeoutError } from 'nestjs-redis-locks';
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

    const skip = { onContended: 'skip' } as const;
    it.each([
      ['the method waits for the waitTimeout beside it', { ...skip, waitTimeout: '5s' }, {}, 'ran'],
      ['the module does not wait', {}, skip, undefined],
      ['the module waits for the waitTimeout beside it', {}, { ...skip, waitTimeout: '5s' }, 'ran'],
    ] as const)('skip of %s', async (_case, options, defaults, expected) => {
      @Injectable()
      class Stock {
        @DistributedLock({ key: 'stock:1', ...options })
        async reserve(): Promise<string | undefined> {
          return 'ran';
        }
      }
      const stock = await bench.make(Stock, { defaults });
      const other = await bench.occupy('stock:1');
      const reserved = stock.reserve();
      if (expected === undefined) expect(await reserved).toBeUndefined();
      await other.release();
      expect(await reserved).toBe(expected);
    });
  });

  describe('onLost', () => {
    class Jobs {
      work = new Work<string>();
      @DistributedLock('job')
      throwing(): Promise<string> {
        return this.work.run();
      }
      @DistributedLock({ key: 'job', onLost: (error, lock) => lostTo(`${error.code} ${lock.key}`) })
      telling(): Promise<string> {
        return this.work.run();
      }
    }
    let lostTo: (what: string) => void;

    async function losing(method: 'throwing' | 'telling') {
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

    it('function: called while the method runs, and the caller still gets the error', async () => {
      const { jobs, result, told } = await losing('telling');
      expect(await told).toBe('LOCK_LOST job');
      jobs.work.end.resolve('value');
      await expect(result).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'value' });
    });
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
