import { Controller, Get, Injectable } from '@nestjs/common';
import { jest } from '@jest/globals';
import { lastValueFrom, Observable, of, toArray } from 'rxjs';
import { DistributedLock, isLockStoreError, UseLock, type LockStoreError } from 'nestjs-redis-locks';
import { NestBench } from './support.js';

const bench = new NestBench();
/** Nothing listens at this address. */
const DOWN = { connection: 'redis://127.0.0.1:1', commandTimeout: 200, shutdownTimeout: 0 };
const ran = jest.fn(() => 'ran');
beforeEach(() => void ran.mockClear());

@Injectable()
class Streams {
  @DistributedLock({ key: 'prices', onUnavailable: () => of('a', 'b') })
  replaced(): Observable<string> {
    return of(ran());
  }

  @DistributedLock({ key: 'prices', onUnavailable: 'skip' })
  skipped(): Observable<string> {
    return of(ran());
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
/** What a call of a locked method gives while Redis is down. */
const calledWith = async (options: object, module = DOWN): Promise<unknown> =>
  (await bench.stockWith(options, ran, module)).reserve('a');

describe('onUnavailable, while Redis is down', () => {
  it.each([{}, { onUnavailable: 'throw' }])('%j: the caller gets the LockStoreError', async (options) => {
    const error = await calledWith(options).catch((thrown: unknown) => thrown as LockStoreError);
    expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true, key: 'stock:1', method: 'Stock.reserve' });
    const { message, cause } = error as LockStoreError;
    expect(message).toMatch(/^@DistributedLock on Stock\.reserve could not lock 'stock:1': .*ECONNREFUSED/);
    expect(cause).toMatchObject({ code: 'LOCK_STORE' });
    expect(ran).not.toHaveBeenCalled();
  });

  it('skip: the caller gets undefined, and the method does not run', async () => {
    expect(await calledWith({ onUnavailable: 'skip' })).toBeUndefined();
    expect(await collect((await bench.make(Streams, DOWN)).skipped())).toEqual([]);
    expect(ran).not.toHaveBeenCalled();
  });

  it('function: its value, by error, arguments and instance; what it throws is the error', async () => {
    const described = {
      onUnavailable(this: { shelf: number }, error: LockStoreError, sku: string) {
        return `${error.code} ${error.transient} ${sku} ${this.shelf}`;
      },
    };
    expect(await calledWith(described)).toBe('LOCK_STORE true a 9');
    expect(await collect((await bench.make(Streams, DOWN)).replaced())).toEqual(['a', 'b']);
    const failing = () => {
      throw new Error('no prices without Redis');
    };
    await expect(calledWith({ onUnavailable: failing })).rejects.toThrow('no prices without Redis');
    expect(ran).not.toHaveBeenCalled();
  });

  it('as a default of the module', async () => {
    const onUnavailable = jest.fn((error: unknown) => (isLockStoreError(error) ? 'default' : 'another error'));
    const module = { ...DOWN, defaults: { onUnavailable } };
    expect(await calledWith({}, module)).toBe('default');
    await expect(calledWith({ onUnavailable: 'throw' }, module)).rejects.toMatchObject({ code: 'LOCK_STORE' });
  });

  it('in a handler', async () => {
    const { url } = await bench.listen(bench.build({ controllers: [PricesController] }, DOWN));
    expect(await (await fetch(`${url}/prices`)).json()).toEqual({ cached: true });
    expect(ran).not.toHaveBeenCalled();
  });

  it('stands beside onContended, and neither takes the error of the other', async () => {
    const both = { waitTimeout: 0, onContended: 'skip', onUnavailable: () => 'unavailable' };
    expect(await calledWith(both)).toBe('unavailable');
    await bench.occupy('stock:1');
    expect(await (await bench.stockWith(both)).reserve()).toBeUndefined();
    const contended = await bench.stockWith({ waitTimeout: 0, onUnavailable: 'skip' });
    await expect(contended.reserve()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
  });

  it('is not asked about an error of the method', async () => {
    const nested = await bench.stockWith({ onUnavailable: 'skip' }, (fails: boolean) => {
      if (fails) throw Object.assign(new Error('of another lock'), { code: 'LOCK_STORE' });
      return 'ran';
    });
    await expect(nested.reserve(true)).rejects.toThrow('of another lock');
    expect(await nested.reserve(false)).toBe('ran');
  });
});
