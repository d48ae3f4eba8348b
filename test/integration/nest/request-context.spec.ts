import {
  Controller,
  Get,
  Injectable,
  Param,
  Post,
  Sse,
  type INestApplication,
  type MessageEvent,
} from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { from, type Observable } from 'rxjs';
import { LockService, type LockObject, type LockHandle } from 'nestjs-redis-locks';
import { createLockService } from '../../../lib/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { deferred, type Deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { NestBench, Section } from './support.js';

const bench = new NestBench();
/** Renewals go on while the machine holds this process up for half a second. */
const LEASE = 1_000;

let section: Section;
let ends: Map<string, Deferred<void>>;
let begun: string[];
let handles: LockHandle[];
let warnings: string[];

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
  private readonly other: LockObject;

  constructor(private readonly locks: LockService) {
    this.lock = locks.getLock('stock');
    this.other = locks.getLock('other');
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

  async careless(): Promise<string> {
    try {
      return (await this.lock.tryLock()) === null ? 'busy' : 'reserved';
    } finally {
      await this.lock.unlock();
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

  /** Gives up on its wait, and ends while the wait continues. */
  async giveUp(): Promise<string> {
    void this.lock.lock({ waitTimeout: '20s' }).then((handle) => handles.push(handle));
    return 'gave up';
  }

  siblings(): Promise<number[]> {
    return Promise.all([this.reserve(), this.reserve(), this.reserve()]);
  }

  async nested(): Promise<unknown[]> {
    await this.lock.lock();
    try {
      return await this.locks.run('other', async () => [
        this.other.isHeldByCurrentContext(),
        this.lock.isHeldByCurrentContext(),
        await this.lock.unlock().catch((error: unknown) => (error as { code: string }).code),
      ]);
    } finally {
      await this.lock.unlock();
    }
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

  @Post('careless')
  careless(): Promise<string> {
    return this.stock.careless().catch((error: unknown) => (error as { code: string }).code);
  }

  @Post('forget')
  forget(): Promise<string> {
    return this.stock.forget();
  }

  @Post('forget/:id')
  forgetLater(@Param('id') id: string): Promise<string> {
    return this.stock.forgetLater(id);
  }

  @Post('give-up')
  giveUp(): Promise<string> {
    return this.stock.giveUp();
  }

  @Post('siblings')
  siblings(): Promise<number[]> {
    return this.stock.siblings();
  }

  @Post('nested')
  nested(): Promise<unknown[]> {
    return this.stock.nested();
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
  warnings = [];
});
afterEach(() => ends.forEach(({ resolve }) => resolve()));

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('a Lock object in a field of a singleton, with requests of %s', (_name, adapter) => {
  let app: INestApplication;
  let url: string;
  let locks: LockService;

  beforeEach(async () => {
    const logger = { debug() {}, log() {}, error() {}, warn: (text: string) => void warnings.push(text) };
    locks = createLockService(resolveModuleOptions({ connection: bench.redis.url, ...OPTIONS }), logger);
    const built = bench.build(METADATA, OPTIONS).overrideProvider(LockService).useValue(locks);
    app = (await built.compile()).createNestApplication(adapter() as ExpressAdapter);
    bench.closeLater(app);
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
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
    expect([await isLocked(), warnings]).toEqual([false, []]);
  });

  it("works with Redisson's guard: a request that acquired nothing does not affect the lock of another one", async () => {
    const first = post('try/1');
    await eventually(() => begun.includes('1'));
    expect(await Promise.all([post('try/2'), post('try/3')])).toEqual(['busy', 'busy']);
    await handles[0]!.verify();
    ends.get('1')!.resolve();
    expect(await first).toBe('reserved');
    expect([handles[0]!.isHeld, await isLocked(), warnings]).toEqual([false, false, []]);
  });

  it('refuses the unlock() of a request that acquired nothing, and keeps the lock of the other one renewed', async () => {
    const first = post('try/1');
    await eventually(() => begun.includes('1'));
    expect(await post('careless')).toBe('LOCK_NOT_HELD');
    await eventually(async () => (await handles[0]!.verify(), handles[0]!.remainingTime() > LEASE / 2), {
      within: LEASE,
    });
    const since = performance.now();
    await eventually(() => performance.now() - since > 1.5 * LEASE);
    await handles[0]!.verify();
    ends.get('1')!.resolve();
    expect(await first).toBe('reserved');
    expect(await isLocked()).toBe(false);
  });

  it('makes siblings of one request wait for each other', async () => {
    expect(await Promise.all([post('siblings'), post('siblings')])).toHaveLength(2);
    expect([section.most, section.entries]).toEqual([1, 6]);
    expect([await isLocked(), warnings]).toEqual([false, []]);
  });

  it('stops renewing a lock that a request did not unlock after its end', async () => {
    expect(await post('forget')).toBe('forgotten');
    await eventually(() => warnings.length > 0);
    expect(warnings).toEqual([expect.stringMatching(/'stock' was .*not unlocked before its request ended/)]);
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
    expect(warnings).toEqual([]);
    ends.get('1')!.resolve();
    await eventually(() => warnings.length === 1);
    await eventually(async () => !(await isLocked()), { within: 3 * LEASE });
  });

  it('does not renew a lock that is granted to an ended request', async () => {
    const other = await locks.acquire('stock');
    expect(await post('give-up')).toBe('gave up');
    await other.release();
    await eventually(() => handles.length === 1);
    await eventually(async () => !(await isLocked()), { within: 3 * LEASE });
    expect(warnings.filter((text) => text.includes('before its request ended'))).toHaveLength(1);
  });

  it('uses the innermost context: a run inside the request has its own', async () => {
    expect(JSON.parse(await post('nested'))).toEqual([true, false, 'LOCK_NOT_HELD']);
    expect(await isLocked()).toBe(false);
    expect(warnings).toEqual([expect.stringContaining('unlock() was called in an inner scope')]);
  });

  it('opens a context around handlers that return Observables, and around server-sent events', async () => {
    const get = async (path: string): Promise<string> => (await fetch(`${url}/${path}`)).text();
    const paths = ['observable', 'events', 'observable', 'events', 'observable'];
    const answers = await Promise.all(paths.map(get));
    expect(answers.map((answer) => Number(/\d+(?=\D*$)/.exec(answer)?.[0])).sort()).toEqual([1, 2, 3, 4, 5]);
    expect([section.most, await isLocked(), warnings]).toEqual([1, false, []]);
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
