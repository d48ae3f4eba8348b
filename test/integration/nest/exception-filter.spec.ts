import {
  Controller,
  Get,
  Injectable,
  UseFilters,
  type INestApplication,
  type Provider,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describe, expect, it } from '@jest/globals';
import { DistributedLock, LockExceptionFilter, lockKey, LockService, UseLock } from 'nestjs-redis-locks';
import type { RedisLockRootOptions } from '../../../lib/module/redis-lock.options.js';
import { startRedis } from '../../../lab/testbed/servers/redis-server.mjs';
import { NestBench } from './support.js';

const bench = new NestBench();

@Injectable()
class Accounts {
  @DistributedLock('account:#{#id}')
  async load(id: string): Promise<string> {
    return id;
  }
}

@Controller()
@UseFilters(LockExceptionFilter)
class Orders {
  constructor(
    private readonly locks: LockService,
    private readonly accounts: Accounts,
  ) {}

  @Get('impatient')
  @UseLock({ key: 'impatient', waitTimeout: 0 })
  impatient(): string {
    return 'ran';
  }

  @Get('failing')
  @UseLock('failing')
  failing(): never {
    throw new Error('out of stock');
  }

  @Get('foreign')
  foreign(): never {
    throw Object.assign(new Error('of another copy'), { code: 'LOCK_TIMEOUT' });
  }

  @Get('template')
  @UseLock('secret:#{#headers.tenant}:#{#query.id}')
  template(): string {
    return 'ran';
  }

  @Get('function')
  @UseLock({ key: ({ query }) => lockKey`secret:${query.id}` })
  function(): string {
    return 'ran';
  }

  @Get('mistake')
  @UseLock({ key: ({ query }) => `secret:${query.order.id}` })
  mistake(): string {
    return 'ran';
  }

  @Get('service')
  service(): Promise<string> {
    return this.accounts.load('');
  }

  @Get('by-hand')
  byHand(): Promise<string> {
    return this.locks.run('', () => 'ran');
  }
}

const adapters: Array<[string, () => ExpressAdapter | FastifyAdapter]> = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
];

describe.each(adapters)('LockExceptionFilter on %s', (_name, makeAdapter) => {
  let url: string;

  async function listen({
    providers = [],
    controllers = [Orders],
    ...options
  }: RedisLockRootOptions & { providers?: Provider[]; controllers?: Type[] } = {}): Promise<void> {
    const metadata = { controllers, providers: [Accounts, ...providers] };
    const module = await bench.build(metadata, { shutdownTimeout: 0, ...options }).compile();
    const settings = { logger: false, forceCloseConnections: true } as const;
    const app: INestApplication = module.createNestApplication(makeAdapter() as never, settings);
    bench.closeLater(app);
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  }

  const fetched = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/${path}`, { headers });
    const text = await response.text();
    const body: unknown = text.startsWith('{') ? JSON.parse(text) : text;
    return { status: response.status, body, retryAfter: response.headers.get('retry-after') };
  };

  it('answers 423 with Retry-After and without keys if the lock is held', async () => {
    await listen();
    await bench.occupy('impatient');
    expect(await fetched('impatient')).toEqual({
      status: 423,
      retryAfter: '1',
      body: { statusCode: 423, code: 'LOCK_TIMEOUT', message: expect.not.stringContaining('impatient') },
    });
  });

  it('answers as its options say', async () => {
    const useFactory = (host: HttpAdapterHost) => new LockExceptionFilter(host, { timeoutStatus: 409, retryAfter: 7 });
    @Controller()
    class Bare {
      @Get('bare')
      @UseLock({ key: 'bare', waitTimeout: 0 })
      bare(): void {}
    }
    const filter = { provide: APP_FILTER, inject: [HttpAdapterHost], useFactory };
    await listen({ providers: [filter], controllers: [Bare] });
    await bench.occupy('bare');
    expect(await fetched('bare')).toMatchObject({ status: 409, retryAfter: '7' });
  });

  it('answers 503 with Retry-After if Redis does not answer', async () => {
    const redis = await startRedis();
    await listen({ connection: redis.url, commandTimeout: 200 });
    await redis.stop();
    expect(await fetched('impatient')).toMatchObject({ status: 503, retryAfter: '1', body: { code: 'LOCK_STORE' } });
  });

  it('recognizes errors of another copy of the package by their code', async () => {
    await listen();
    expect((await fetched('foreign')).status).toBe(423);
  });

  it('passes on other errors', async () => {
    await listen();
    expect(await fetched('failing')).toMatchObject({ status: 500, retryAfter: null });
  });

  it.each([
    ['a header that is missing', 'template?id=1', {}],
    ['a value that is empty', 'template?id=', { tenant: 'acme' }],
    ['a value that is a list', 'template?id=1&id=2', { tenant: 'acme' }],
    ['a value that is too long', `template?id=${'x'.repeat(600)}`, { tenant: 'acme' }],
    ['a value that a key function cannot put into its key', 'function', {}],
  ])('answers 400 for %s, without keys', async (_what, path, headers) => {
    await listen();
    expect(await fetched(path, headers)).toEqual({
      status: 400,
      retryAfter: null,
      body: { statusCode: 400, code: 'LOCK_KEY', message: expect.not.stringMatching(/secret|tenant|xxx/) },
    });
    const answers = [await fetched('template?id=1', { tenant: 'acme' }), await fetched('function?id=1')];
    expect(answers.map(({ body }) => body)).toEqual(['ran', 'ran']);
  });

  it.each([
    ['a key function that fails', 'mistake'],
    ['a key that a service makes of whatever it has', 'service'],
    ['a key that was made by hand', 'by-hand'],
  ])('leaves mistakes in the code to Nest: %s', async (_what, path) => {
    await listen();
    expect(await fetched(path)).toMatchObject({ status: 500, retryAfter: null });
  });
});
