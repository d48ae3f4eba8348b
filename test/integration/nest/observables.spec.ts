import { Injectable } from '@nestjs/common';
import {
  concat,
  EMPTY,
  firstValueFrom,
  lastValueFrom,
  NEVER,
  Observable,
  of,
  Subject,
  throwError,
  toArray,
} from 'rxjs';
import { findCurrentLock, DistributedLock, LockService } from 'nestjs-redis-locks';
import { eventually, deferred, lockError } from '../../../lab/testbed/locks/locks.js';
import { NestBench } from './support.js';

const bench = new NestBench();

@Injectable()
class Streams {
  calls = 0;
  source: Observable<unknown> = EMPTY;

  constructor(readonly locks: LockService) {}

  @DistributedLock('stream')
  open(): Observable<unknown> {
    this.calls += 1;
    return this.source;
  }

  @DistributedLock({ key: 'stream', onContended: 'skip' })
  skipping(): Observable<unknown> {
    return this.source;
  }

  @DistributedLock({ key: 'stream', onContended: (_error, instead: unknown) => instead })
  replaced(_instead: unknown): Observable<unknown> {
    return this.source;
  }

  @DistributedLock({ key: 'stream', returns: 'observable' })
  inferred() {
    return this.source;
  }

  @DistributedLock('stream')
  unknown(): Observable<unknown> | Promise<unknown> {
    return this.source;
  }

  isLocked(): Promise<boolean> {
    return this.locks.getLock('stream').isLocked();
  }
}

const collect = (stream: Observable<unknown>) => firstValueFrom(stream.pipe(toArray()));

describe('methods that return an Observable', () => {
  let streams: Streams;

  beforeEach(async () => {
    streams = await bench.make(Streams);
  });

  it('are called at each subscription, and not before', async () => {
    streams.source = of(1, 2);
    const stream = streams.open();
    expect(streams.calls).toBe(0);
    expect(await collect(stream)).toEqual([1, 2]);
    expect(await collect(stream)).toEqual([1, 2]);
    expect(streams.calls).toBe(2);
  });

  it('hold the lock from subscribe until complete', async () => {
    const source = new Subject<number>();
    streams.source = source;
    const first = deferred<unknown>();
    const completed = deferred();
    streams.open().subscribe({ next: first.resolve, complete: completed.resolve });
    await eventually(() => source.observed);
    source.next(1);
    expect(await first).toBe(1);
    expect(await streams.isLocked()).toBe(true);
    source.complete();
    await completed;
    expect(await streams.isLocked()).toBe(false);
  });

  it('hold the lock until an error, which the subscriber gets', async () => {
    streams.source = concat(
      of(1),
      throwError(() => new Error('broken')),
    );
    await expect(lastValueFrom(streams.open())).rejects.toThrow('broken');
    expect(await streams.isLocked()).toBe(false);
  });

  it('hold the lock until unsubscribed', async () => {
    const source = new Subject<number>();
    streams.source = source;
    const subscription = streams.open().subscribe();
    await eventually(() => source.observed);
    expect(await streams.isLocked()).toBe(true);
    subscription.unsubscribe();
    expect(source.observed).toBe(false);
    await eventually(async () => !(await streams.isLocked()));
  });

  it('release if a subscriber leaves during synchronous values', async () => {
    streams.source = of(1, 2, 3);
    expect(await firstValueFrom(streams.open())).toBe(1);
    await eventually(async () => !(await streams.isLocked()));
  });

  it('unsubscribed while waiting: the wait ends, and the method is never called', async () => {
    const other = await bench.occupy('stream');
    const subscription = streams.open().subscribe();
    await bench.untilWaiting('stream', 1);
    subscription.unsubscribe();
    await bench.untilWaiting('stream', 0);
    await other.release();
    expect(streams.calls).toBe(0);
  });

  it('run in the scope of the lock', async () => {
    streams.source = new Observable((subscriber) => {
      subscriber.next(findCurrentLock()?.key);
      setTimeout(() => {
        subscriber.next(findCurrentLock()?.isHeld);
        subscriber.complete();
      });
    });
    expect(await collect(streams.open())).toEqual(['stream', true]);
  });

  it('if contended: emit the error, nothing, or the result of the function', async () => {
    streams = await bench.make(Streams, { defaults: { waitTimeout: 50 } });
    await bench.occupy('stream');
    await expect(collect(streams.open())).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(await collect(streams.skipping())).toEqual([]);
    expect(await collect(streams.replaced('value'))).toEqual(['value']);
    expect(await collect(streams.replaced(of(1, 2)))).toEqual([1, 2]);
    expect(await collect(streams.replaced(Promise.resolve('later')))).toEqual(['later']);
  });

  it('emit an error at the end if the lock was lost', async () => {
    const source = new Subject<number>();
    streams.source = source;
    const collected = collect(streams.open());
    await eventually(() => source.observed);
    await streams.locks.forceRelease('stream');
    source.complete();
    await expect(collected).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('with an inferred type are declared by the option returns', async () => {
    streams.source = of(1);
    expect(await collect(streams.inferred())).toEqual([1]);
  });

  it('without a type and the option reject, and name the option', async () => {
    streams.source = NEVER;
    await expect(streams.unknown()).rejects.toEqual(lockError('LOCK_CONFIG', "add returns: 'observable'"));
    expect(await streams.isLocked()).toBe(false);
  });
});
