import { Controller, Get, Injectable } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { lastValueFrom, Observable, of, toArray } from 'rxjs';
import { DistributedLock, isLockStoreError, LockService, UseLock, type LockStoreError } from 'nestjs-redis-locks';
import { NestBench } from './support.js';

const bench = new NestBench();
/** Nothing listens at this address. */
const DOWN = { connection: 'redis://127.0.0.1:1', commandTimeout: 200, shutdownTimeout: 0 };
const ran = jest.fn();

@Injectable()
class Prices {
  shelf = 9;
  constructor(readonly locks: LockService) {}

  @DistributedLock('prices')
  async byDefault(): Promise<string | undefined> {
    ran();
    return 'ran';
  }

  @DistributedLock({ key: 'prices', onUnavailable: 'throw' })
  async throwing(): Promise<string> {
    ran();
    return 'ran';
  }

  @DistributedLock({ key: 'prices', onUnavailable: 'skip' })
  async skipping(): Promise<string | undefined> {
    ran();
    return 'ran';
  }

  @DistributedLock({
    key: 'prices',
    onUnavailable(this: Prices, error, sku: string) {
      return `${error.code} ${error.transient} ${sku} ${this.shelf}`;
    },
  })
  async replaced(_sku: string): Promise<string> {
    ran();
    return 'ran';
  }

  @DistributedLock({
    key: 'prices',
    onUnavailable: () => {
      throw new Error('no prices without Redis');
    },
  })
  async failing(): Promise<string> {
    ran();
    return 'ran';
  }

  @DistributedLock({ key: 'prices', waitTimeout: 0, onContended: 'skip', onUnavailable: () => 'unavailable' })
  async both(): Promise<string | undefined> {
    ran();
    return 'ran';
  }

  @DistributedLock({ key: 'prices', waitTimeout: 0, onUnavailable: 'skip' })
  async contended(): Promise<string | undefined> {
    ran();
    return 'ran';
  }

  @DistributedLock({ key: 'prices', onUnavailable: 'skip' })
  async nested(): Promise<string | undefined> {
    throw Object.assign(new Error('of another lock'), { code: 'LOCK_STORE' });
  }

  @DistributedLock({ key: 'prices', onUnavailable: () => of('a', 'b') })
  replacedStream(): Observable<string> {
    return of('ran');
  }

  @DistributedLock({ key: 'prices', onUnavailable: 'skip' })
  skippedStream(): Observable<string> {
    return of('ran');
  }
}

@Controller()
class PricesController {
  @Get('prices')
  @UseLock({ key: 'prices', onUnavailable: () => ({ cached: true }) })
  prices(): object {
    ran();
    return { cached: false };
  }
}

const collect = (stream: Observable<unknown>) => lastValueFrom(stream.pipe(toArray()));

describe('onUnavailable, while Redis is down', () => {
  it.each(['byDefault', 'throwing'] as const)('%s: the caller gets the LockStoreError', async (method) => {
    const prices = await bench.make(Prices, DOWN);
    ran.mockClear();
    const error = await prices[method]().catch((thrown: unknown) => thrown as LockStoreError);
    expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true, key: 'prices', method: `Prices.${method}` });
    const { message, cause } = error as LockStoreError;
    expect(message).toMatch(
      new RegExp(`^@DistributedLock on Prices.${method} could not lock 'prices': .*ECONNREFUSED`),
    );
    expect(cause).toMatchObject({ code: 'LOCK_STORE' });
    expect(ran).not.toHaveBeenCalled();
  });

  it('skip: the caller gets undefined, and the method does not run', async () => {
    const prices = await bench.make(Prices, DOWN);
    ran.mockClear();
    expect(await prices.skipping()).toBeUndefined();
    expect(await collect(prices.skippedStream())).toEqual([]);
    expect(ran).not.toHaveBeenCalled();
  });

  it('function: its value, by error, arguments and instance; what it throws is the error', async () => {
    const prices = await bench.make(Prices, DOWN);
    ran.mockClear();
    expect(await prices.replaced('a')).toBe('LOCK_STORE true a 9');
    expect(await collect(prices.replacedStream())).toEqual(['a', 'b']);
    await expect(prices.failing()).rejects.toThrow('no prices without Redis');
    expect(ran).not.toHaveBeenCalled();
  });

  it('as a default of the module', async () => {
    const onUnavailable = jest.fn((error: unknown) => (isLockStoreError(error) ? 'default' : 'another error'));
    const prices = await bench.make(Prices, { ...DOWN, defaults: { onUnavailable } });
    expect(await prices.byDefault()).toBe('default');
    await expect(prices.throwing()).rejects.toMatchObject({ code: 'LOCK_STORE' });
  });

  it('in a handler', async () => {
    const app = await bench.build({ controllers: [PricesController] }, DOWN).compile();
    const http = app.createNestApplication({ logger: false });
    bench.closeLater(http);
    await http.listen(0, '127.0.0.1');
    ran.mockClear();
    expect(await (await fetch(`${await http.getUrl()}/prices`)).json()).toEqual({ cached: true });
    expect(ran).not.toHaveBeenCalled();
  });

  it('stands beside onContended, and neither takes the error of the other', async () => {
    expect(await (await bench.make(Prices, DOWN)).both()).toBe('unavailable');
    const prices = await bench.make(Prices);
    await bench.occupy('prices');
    expect(await prices.both()).toBeUndefined();
    await expect(prices.contended()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
  });

  it('is not asked about an error of the method', async () => {
    const prices = await bench.make(Prices);
    await expect(prices.nested()).rejects.toThrow('of another lock');
    expect(await prices.skipping()).toBe('ran');
  });
});
