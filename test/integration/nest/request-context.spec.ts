import { Controller, Get, Injectable, Param, Post, Sse, type MessageEvent } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { from, type Observable } from 'rxjs';
import { LockService, type LockObject, type LockHandle } from 'nestjs-redis-locks';
import { deferred, type Deferred, eventually } from '../../../lab/testbed/locks/locks.js';
import { ADAPTERS } from './adapters.js';
import { Section } from '../../../lab/testbed/locks/section.js';
import { NestBench } from './support.js';

const bench = new NestBench();
/** Renewals go on while the machine holds this process up for half a second. */
const LEASE = 1_000;

let section: Section;
let ends: Map<string, Deferred<void>>;
let begun: string[];
let handles: LockHandle[];

/** Until the test says that this request may go on. */
function pause(id: string): Promise<void> {
  begun.push(id);
  const end = deferred();
  ends.set(id, end);
  return end;
}

@Injectable()
class Stock {
  /** A field of a singleton, as people with a background in Java write it. */
  private readonly lock: LockObject;

  constructor(locks: LockService) {
    this.lock = locks.getLock('stock');
  }

  async reserve(): Promise<number> {
    await this.lock.lock();
    try {
      return await section.pass();
    } finally {
      await this.lock.unlock();
    }
  }

  async tryReserve(id: string): Promise<string> {
    try {
      const handle = await this.lock.tryLock();
      if (handle === null) return 'busy';
      handles.push(handle);
      await pause(id);
      return 'reserved';
    } finally {
      if (this.lock.isHeldByCurrentContext()) await this.lock.unlock();
    }
  }

  /** Acquires the lock and never releases it. */
  async forget(): Promise<string> {
    handles.push(await this.lock.lock());
    return 'forgotten';
  }

  async forgetLater(id: string): Promise<string> {
    handles.push(await this.lock.lock());
    await pause(id);
    return 'forgotten';
  }
}

@Controller()
class StockController {
  constructor(private readonly stock: Stock) {}

  @Post('reserve')
  reserve(): Promise<number> {
    return this.stock.reserve();
  }

  @Post('try/:id')
  tryReserve(@Param('id') id: string): Promise<string> {
    return this.stock.tryReserve(id);
  }

  @Post('forget')
  forget(): Promise<string> {
    return this.stock.forget();
  }

  @Post('forget/:id')
  forgetLater(@Param('id') id: string): Promise<string> {
    return this.stock.forgetLater(id);
  }

  @Get('observable')
  observable(): Observable<number> {
    return from(this.stock.reserve());
  }

  @Sse('events')
  events(): Observable<MessageEvent> {
    return from(this.stock.reserve().then((count) => ({ data: { count } })));
  }
}

const METADATA = { controllers: [StockController], providers: [Stock] };
const OPTIONS = { renewedLease: LEASE, shutdownTimeout: 0 };

beforeEach(() => {
  section = new Section();
  ends = new Map();
  begun = [];
  handles = [];
});
afterEach(() => ends.forEach(({ resolve }) => resolve()));

describe.each(ADAPTERS)('a Lock object in a field of a singleton, with requests of %s', (_name, adapter) => {
  let url: string;
  let locks: LockService;

  beforeEach(async () => {
    const builder = bench.build(METADATA, OPTIONS);
    const listening = await bench.listen(builder, { adapter, forceCloseConnections: false });
    url = listening.url;
    locks = listening.app.get(LockService);
  });

  const post = async (path: string, init: RequestInit = {}): Promise<string> => {
    const body = JSON.stringify({ some: 'body' });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}/${path}`, { method: 'POST', body, headers, ...init })).text();
  };
  const isLocked = (): Promise<boolean> => locks.getLock('stock').isLocked();

  it('works with lock, try, finally and unlock, in requests that overlap', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => post('reserve')));
    expect(answers.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
    expect(section.most).toBe(1);
    expect([await isLocked(), bench.warnings]).toEqual([false, []]);
  });

  it('stops renewing a lock that a request did not unlock after its end', async () => {
    expect(await post('forget')).toBe('forgotten');
    await eventually(() => bench.warnings.length > 0);
    expect(bench.warnings).toEqual([expect.stringMatching(/'stock' was .*not unlocked before its request ended/)]);
    expect(handles[0]!.isHeld).toBe(true); // it may still be in use
    await eventually(async () => !(await isLocked()), { within: 3 * LEASE });
    expect(Number(await post('reserve'))).toBe(1);
  });

  it('keeps renewing for a handler that continues after its client has disconnected', async () => {
    const gone = new AbortController();
    const request = post('forget/1', { signal: gone.signal }).catch(() => 'gone');
    await eventually(() => begun.includes('1'));
    gone.abort();
    expect(await request).toBe('gone');
    const since = performance.now();
    await eventually(() => performance.now() - since > 1.5 * LEASE);
    expect(handles[0]!.isHeld).toBe(true);
    expect(bench.warnings).toEqual([]);
    ends.get('1')!.resolve();
    await eventually(() => bench.warnings.length === 1);
    await eventually(async () => !(await isLocked()), { within: 3 * LEASE });
  });

  it('opens a context around handlers that return Observables, and around server-sent events', async () => {
    const get = async (path: string): Promise<string> => (await fetch(`${url}/${path}`)).text();
    const paths = ['observable', 'events', 'observable', 'events', 'observable'];
    const answers = await Promise.all(paths.map(get));
    expect(answers.map((answer) => Number(/\d+(?=\D*$)/.exec(answer)?.[0])).sort()).toEqual([1, 2, 3, 4, 5]);
    expect([section.most, await isLocked(), bench.warnings]).toEqual([1, false, []]);
  });
});

describe('a Lock object in a field of a singleton, with messages', () => {
  it.each(['rpc', 'ws', 'graphql'])('has a context for each of type %s', async (type) => {
    const app = await bench.boot(METADATA, OPTIONS);
    const stock = app.get(StockController);
    // The class through which Nest's packages for GraphQL and other transports call handlers.
    const creator = app.get(ExternalContextCreator);
    const handle = (method: 'reserve' | 'tryReserve'): ((...args: unknown[]) => Promise<unknown>) => {
      const callback = stock[method] as (...args: unknown[]) => unknown;
      return creator.create(stock, callback, method, undefined, undefined, undefined, undefined, undefined, type);
    };

    const answers = await Promise.all(Array.from({ length: 5 }, () => handle('reserve')()));
    expect(answers.map(Number).sort()).toEqual([1, 2, 3, 4, 5]);
    expect(section.most).toBe(1);

    const first = handle('tryReserve')('1');
    await eventually(() => begun.length === 1);
    expect(await handle('tryReserve')('2')).toBe('busy');
    await handles[0]!.verify();
    [...ends.values()][0]!.resolve();
    expect(await first).toBe('reserved');
    expect(handles[0]!.isHeld).toBe(false);
  });

  it('has one for each request with several instances of the module', async () => {
    const app = await bench.boot(
      { ...METADATA, imports: [bench.locks({ instance: 'more', keyPrefix: 'more' })] },
      OPTIONS,
    );
    const stock = app.get(StockController);
    const creator = app.get(ExternalContextCreator);
    const reserve = creator.create(stock, stock.reserve, 'reserve');
    expect(await Promise.all([reserve(), reserve(), reserve()])).toHaveLength(3);
    expect(section.most).toBe(1);
  });
});
