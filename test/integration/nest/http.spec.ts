import {
  Body,
  Controller,
  Get,
  Headers,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Res,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type Provider,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { map, retry, Subject, timeout, type Observable } from 'rxjs';
import { findCurrentLock, DistributedLock, DistributedLockInterceptor, LockService, UseLock } from 'nestjs-redis-locks';
import { eventually, throughout } from '../../../lab/testbed/wait/eventually.mjs';
import { ADAPTERS } from './adapters.js';
import { Section } from '../../../lab/testbed/locks/section.js';
import { NestBench, Work } from './support.js';

const bench = new NestBench();

@Injectable()
class SignedIn implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    context.switchToHttp().getRequest().user = { id: 'ann' };
    return true;
  }
}

@Injectable()
class Wrapping implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((body) => ({ body, lockedOutside: findCurrentLock()?.key })));
  }
}

@Injectable()
class Retrying implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(retry(2));
  }
}

@Injectable()
class Impatient implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(timeout(200));
  }
}

const held = (): { held: string | undefined } => ({ held: findCurrentLock()?.key });
let section: Section;
let work: Work<string>;
let stream: Subject<string>;
let attempts: unknown[];

@Controller()
class Orders {
  constructor(private readonly locks: LockService) {}

  @Post('orders/:id/:part')
  @UseGuards(SignedIn)
  @UseLock("#params.id/#query.q/#body.sku/#{#headers['x-tenant']}/#user.id")
  everything(@Param('id') _id: string, @Query() _q: unknown, @Body() _body: unknown, @Headers() _headers: unknown) {
    return held();
  }

  @Get('counted')
  @UseLock('counted')
  async counted(): Promise<number> {
    return section.pass();
  }

  @Get('working/:id')
  @UseLock('working:#{#params.id}')
  working(): Promise<string> {
    return work.run();
  }

  @Get('failing')
  @UseLock('failing')
  failing(): unknown[] {
    attempts.push(findCurrentLock()?.key);
    if (attempts.length < 3) throw new Error('again');
    return attempts;
  }

  @Get('stream')
  @UseLock('stream')
  streaming(): Observable<string> {
    return stream;
  }

  @Get('functions/:id')
  @UseLock({
    key: ({ params }, context) => `${context.getHandler().name}:${params.id}`,
    condition: ({ params }) => params.id !== 'free',
    onContended: (error, { params }) => ({ error: error.code, id: params.id }),
  })
  functions() {
    return held();
  }

  @Get('skipped')
  @UseLock({ key: 'skipped', onContended: 'skip' })
  skipped(): string {
    return 'ran';
  }

  @Get('skipped/responding')
  @UseLock({ key: 'skipped', onContended: 'skip' })
  responding(@Res() response: { send(body: string): void }): void {
    response.send('ran');
  }

  @Get('skipped/passing')
  @UseLock({ key: 'skipped', onContended: 'skip' })
  passing(@Res({ passthrough: true }) _response: unknown): string {
    return 'ran';
  }

  @Get('two/:a/:b')
  @UseLock('a:#params.a')
  @UseLock('b:#params.b')
  async two(): Promise<unknown> {
    const waiting = await Promise.all(['a:1', 'b:2'].map((key) => this.locks.getLock(key).isLocked()));
    return { ...held(), waiting };
  }

  @Get('piped/:id')
  @DistributedLock('piped:#{#id}')
  async piped(@Param('id', ParseIntPipe) id: number): Promise<unknown> {
    return { ...held(), type: typeof id };
  }

  @Get('both/:id')
  @UseLock('order:#{#params.id}')
  @DistributedLock('order:#id')
  async both(@Param('id') id: string): Promise<unknown> {
    return { id, count: findCurrentLock()?.holdCount };
  }

  @Get('wrapped')
  @UseInterceptors(Wrapping)
  @UseLock('wrapped')
  wrapped(): string {
    return 'body';
  }
}

describe.each(ADAPTERS)('request handlers on %s', (_name, adapter) => {
  let app: INestApplication;
  let url: string;

  async function listen(providers: Provider[] = []): Promise<void> {
    const builder = bench.build({ controllers: [Orders], providers }, { shutdownTimeout: 0 });
    ({ app, url } = await bench.listen(builder, { adapter }));
  }

  const fetched = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${url}/${path}`, init);
    const text = await response.text();
    const body: unknown = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
    return { status: response.status, body };
  };
  const get = async (path: string): Promise<unknown> => (await fetched(path)).body;

  beforeEach(() => {
    section = new Section();
    work = new Work();
    stream = new Subject();
    attempts = [];
  });
  afterEach(() => {
    work.end.resolve('');
  });

  it('are locked by params, query, body, headers and user', async () => {
    await listen();
    const headers = { 'content-type': 'application/json', 'x-tenant': 'acme' };
    const { body } = await fetched('orders/7/x?q=8', { method: 'POST', headers, body: JSON.stringify({ sku: 'a:b' }) });
    expect(body).toEqual({ held: '7/8/a%3Ab/acme/ann' });
  });

  it('run one at a time for each key', async () => {
    await listen();
    await Promise.all(Array.from({ length: 5 }, () => get('counted')));
    expect(section).toMatchObject({ most: 1, entries: 5 });
  });

  it('are locked until their Observable completes', async () => {
    await listen();
    const answer = get('stream');
    await eventually(() => stream.observed);
    stream.next('value');
    expect(await app.get(LockService).getLock('stream').isLocked()).toBe(true);
    stream.complete();
    expect(await answer).toBe('value');
    expect(await app.get(LockService).getLock('stream').isLocked()).toBe(false);
  });

  it('pass the request and the context to functions', async () => {
    await listen();
    expect(await get('functions/3')).toEqual({ held: 'functions:3' });
    expect(await get('functions/free')).toEqual({});
    await bench.occupy('functions:4');
    expect(await get('functions/4')).toEqual({ error: 'LOCK_TIMEOUT', id: '4' });
  });

  it('send an empty response if they are skipped', async () => {
    await listen();
    await bench.occupy('skipped');
    for (const path of ['skipped', 'skipped/responding', 'skipped/passing'])
      expect(await fetched(path, { signal: AbortSignal.timeout(10_000) })).toMatchObject({ status: 200, body: '' });
  });

  it('hold two locks on one method together, the upper one outside', async () => {
    await listen();
    expect(await get('two/1/2')).toEqual({ held: 'b:2', waiting: [true, true] });
  });

  it('with @DistributedLock are locked with their arguments after pipes', async () => {
    await listen([{ provide: APP_INTERCEPTOR, useClass: DistributedLockInterceptor }]);
    expect(await get('piped/0042')).toEqual({ held: 'piped:42', type: 'number' });
  });

  it('with both decorators re-enter the same key', async () => {
    await listen();
    expect(await get('both/9')).toEqual({ id: '9', count: 2 });
  });

  it('with a global interceptor are locked once, outside of other interceptors', async () => {
    await listen([{ provide: APP_INTERCEPTOR, useClass: DistributedLockInterceptor }]);
    await bench.redis.resetCommandStats();
    expect(await get('wrapped')).toEqual({ body: 'body', lockedOutside: 'wrapped' });
    expect((await bench.redis.commandStats())['evalsha']).toBe(2); // acquire and release
  });

  it('remove a client that disconnects while it waits from the queue', async () => {
    await listen();
    await bench.occupy('counted');
    const client = new AbortController();
    const answer = fetch(`${url}/counted`, { signal: client.signal });
    await bench.untilWaiting('counted', 1);
    client.abort();
    await expect(answer).rejects.toThrow();
    await bench.untilWaiting('counted', 0);
    expect(section.entries).toBe(0);
  });

  it('are locked each time if an interceptor around them runs them again', async () => {
    await listen([{ provide: APP_INTERCEPTOR, useClass: Retrying }]);
    expect(await get('failing')).toEqual(['failing', 'failing', 'failing']);
  });

  describe('under an interceptor that gives up', () => {
    const isLocked = (key: string): Promise<boolean> => app.get(LockService).getLock(key).isLocked();
    beforeEach(() => listen([{ provide: APP_INTERCEPTOR, useClass: Impatient }]));

    it('keep the lock while their promise is pending', async () => {
      expect(await fetched('working/1')).toMatchObject({ status: 500 });
      await throughout(50, () => isLocked('working:1'));
      work.end.resolve('done');
      await eventually(async () => !(await isLocked('working:1')));
    });

    it('release the lock of an Observable', async () => {
      expect(await fetched('stream')).toMatchObject({ status: 500 });
      await eventually(async () => !(await isLocked('stream')) && !stream.observed);
    });

    it('wait for a second lock no longer, and release the first one', async () => {
      await bench.occupy('b:2');
      expect(await fetched('two/1/2')).toMatchObject({ status: 500 });
      await bench.untilWaiting('b:2', 0);
      await eventually(async () => !(await isLocked('a:1')));
    });
  });

  it('keep the lock if the client disconnects while its handler runs', async () => {
    await listen();
    const client = new AbortController();
    const answer = fetch(`${url}/working/1`, { signal: client.signal });
    await work.begun;
    client.abort();
    await expect(answer).rejects.toThrow();
    const lock = app.get(LockService).getLock('working:1');
    await throughout(50, () => lock.isLocked());
    work.end.resolve('done');
    await eventually(async () => !(await lock.isLocked()));
  });
});
