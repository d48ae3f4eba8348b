import {
  Controller,
  Get,
  Injectable,
  UseFilters,
  type Provider,
  type Type,
  type INestApplication,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import {
  DistributedLock,
  LockExceptionFilter,
  lockKey,
  LockService,
  UseLock,
  LockStoreError,
  LockTimeoutError,
} from 'nestjs-redis-locks';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { firstValueFrom, type Observable } from 'rxjs';
import { once } from 'node:events';
import { ClientProxyFactory, MessagePattern, Transport, type ClientProxy } from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { WebSocket } from 'ws';
import type { RedisLockRootOptions } from '../../../lib/module/redis-lock.options.js';
import { ADAPTERS } from './adapters.js';
import { NestBench } from './support.js';
import { findFreePort } from '../../../lab/testbed/servers/ports.mjs';

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

describe.each(ADAPTERS)('LockExceptionFilter on %s', (_name, adapter) => {
  let url: string;

  async function listen({
    providers = [],
    controllers = [Orders],
    ...options
  }: RedisLockRootOptions & { providers?: Provider[]; controllers?: Type[] } = {}): Promise<void> {
    const metadata = { controllers, providers: [Accounts, ...providers] };
    const builder = bench.build(metadata, { shutdownTimeout: 0, ...options });
    ({ url } = await bench.listen(builder, { adapter }));
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
    await listen({ connection: 'redis://127.0.0.1:1', commandTimeout: 200 });
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

describe('LockExceptionFilter on other transports', () => {
  const filter = new LockExceptionFilter(new HttpAdapterHost(), { retryAfter: 3 });
  const timeout = new LockTimeoutError('others hold account:7', { key: 'account:7' });

  function caught(type: string, args: unknown[] = [], error: LockTimeoutError | LockStoreError = timeout): unknown {
    const host = new ExecutionContextHost(args);
    host.setType(type);
    return filter.catch(error, host);
  }

  const ANSWER = {
    status: 'error',
    code: 'LOCK_TIMEOUT',
    message: 'Another request holds the lock. Try again.',
    retryAfter: 3,
  };

  it('a WebSocket of Socket.IO: an exception', () => {
    const sent: unknown[] = [];
    caught('ws', [{ emit: (...message: unknown[]) => sent.push(message) }, {}]);
    expect(sent).toEqual([['exception', ANSWER]]);
  });

  it('GraphQL: an error with the code among its extensions, and the cause for the log', () => {
    expect(() => caught('graphql')).toThrow(
      expect.objectContaining({
        message: ANSWER.message,
        extensions: { code: 'LOCK_TIMEOUT', retryAfter: 3 },
        cause: timeout,
      }),
    );
  });

  it.each([
    ['a failure of Redis', true, { message: 'Temporarily unavailable. Try again.', retryAfter: 3 }],
    ['a Redis that refuses locks, without a further try', false, { message: 'Locks are unavailable.' }],
  ])('reports %s', async (_, transient, told) => {
    const answer = caught('rpc', [], new LockStoreError('no answer for account:7', { transient }));
    await expect(firstValueFrom(answer as Observable<unknown>)).rejects.toEqual({
      ...{ status: 'error', code: 'LOCK_STORE', ...told },
    });
  });

  it('anything else: the error as it is', () => {
    expect(() => caught('telegram')).toThrow(timeout);
  });
});

const clients: Array<Pick<ClientProxy, 'close'>> = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

@Injectable()
class Stock {
  @DistributedLock({ key: 'stock', waitTimeout: 0 })
  async reserve(): Promise<string> {
    return 'reserved';
  }
}

@Controller()
class Checkout {
  constructor(private readonly stock: Stock) {}

  @Get('pay')
  pay(): Promise<string> {
    return this.stock.reserve();
  }

  @MessagePattern('pay')
  payByMessage(): Promise<string> {
    return this.stock.reserve();
  }

  @MessagePattern('book')
  @UseLock({ key: 'stock', waitTimeout: 0 })
  book(): string {
    return 'booked';
  }
}

@WebSocketGateway()
@UseFilters(LockExceptionFilter)
class FilteredGateway {
  constructor(private readonly stock: Stock) {}

  @SubscribeMessage('pay')
  async pay(): Promise<object> {
    return { event: 'paid', data: await this.stock.reserve() };
  }

  @SubscribeMessage('book')
  @UseLock({ key: 'stock', waitTimeout: 0 })
  book(): object {
    return { event: 'booked', data: 'booked' };
  }
}

@WebSocketGateway()
class UnfilteredGateway {
  constructor(private readonly stock: Stock) {}

  @SubscribeMessage('pay')
  async pay(): Promise<object> {
    return { event: 'paid', data: await this.stock.reserve() };
  }
}

interface Hybrid {
  readonly http: () => Promise<{ status: number; body: unknown }>;
  readonly message: (pattern: string) => Promise<unknown>;
  /** Sends a message to the gateway, and returns its answer. */
  readonly gateway: (event: string) => Promise<unknown>;
}

/** Starts an application with HTTP, a microservice and gateways; `configure` runs before the microservice is connected. */
async function start(
  inheritAppConfig: boolean,
  configure: (app: INestApplication) => void,
  providers: any[] = [],
): Promise<Hybrid> {
  const where = {
    transport: Transport.TCP as Transport.TCP,
    options: { host: '127.0.0.1', port: await findFreePort() },
  };
  const prepare = async (app: INestApplication): Promise<void> => {
    app.useWebSocketAdapter(new WsAdapter(app));
    configure(app);
    app.connectMicroservice(where, { inheritAppConfig });
    await app.startAllMicroservices();
  };
  const builder = bench.build({ controllers: [Checkout], providers: [Stock, ...providers] });
  const { url } = await bench.listen(builder, { prepare, forceCloseConnections: false });
  const client = ClientProxyFactory.create(where);
  clients.push(client);
  return {
    http: async () => {
      const response = await fetch(`${url}/pay`, { headers: { connection: 'close' } });
      return { status: response.status, body: response.status === 200 ? await response.text() : await response.json() };
    },
    message: (pattern) => firstValueFrom(client.send<unknown>(pattern, {})).catch((error: unknown) => error),
    gateway: async (event) => {
      const socket = new WebSocket(url.replace('http', 'ws'));
      clients.push(socket);
      await once(socket, 'open');
      socket.send(JSON.stringify({ event, data: {} }));
      const [text] = (await once(socket, 'message')) as [Buffer];
      socket.close();
      return JSON.parse(text.toString()) as unknown;
    },
  };
}

const useFilter = (app: INestApplication): void =>
  void app.useGlobalFilters(new LockExceptionFilter(app.get(HttpAdapterHost)));

const CONTENDED = { status: 'error', code: 'LOCK_TIMEOUT', message: expect.any(String), retryAfter: 1 };
const UNKNOWN = { status: 'error', message: 'Internal server error' };

describe('LockExceptionFilter in a hybrid application', () => {
  it('answers both transports with inheritAppConfig, if it is registered before the microservice', async () => {
    const app = await start(true, useFilter);
    const other = await bench.occupy('stock');
    expect(await app.http()).toMatchObject({ status: 423, body: { code: 'LOCK_TIMEOUT' } });
    expect([await app.message('pay'), await app.message('book')]).toEqual([CONTENDED, CONTENDED]);
    await other.release();
    expect([await app.http(), await app.message('book')]).toEqual([{ status: 200, body: 'reserved' }, 'booked']);
  });

  it('answers microservices as APP_FILTER only with inheritAppConfig', async () => {
    for (const inherits of [true, false]) {
      const providers = [{ provide: APP_FILTER, useClass: LockExceptionFilter }];
      const app = await start(inherits, () => undefined, providers);
      const other = await bench.occupy('stock');
      const { status } = await app.http();
      expect({ inherits, status, message: await app.message('pay') }).toEqual({
        inherits,
        status: 423,
        message: inherits ? CONTENDED : UNKNOWN,
      });
      await other.release();
    }
  });

  it('answers a gateway that has it with @UseFilters, whether or not it is global', async () => {
    for (const configure of [useFilter, () => undefined]) {
      const app = await start(true, configure, [FilteredGateway]);
      const other = await bench.occupy('stock');
      const exception = { event: 'exception', data: CONTENDED };
      expect([await app.gateway('pay'), await app.gateway('book')]).toEqual([exception, exception]);
      await other.release();
      expect(await app.gateway('pay')).toEqual({ event: 'paid', data: 'reserved' });
      expect(await app.gateway('book')).toEqual({ event: 'booked', data: 'booked' });
    }
  });

  it('does not answer a gateway as a global filter', async () => {
    const providers = [UnfilteredGateway, { provide: APP_FILTER, useClass: LockExceptionFilter }];
    const app = await start(true, useFilter, providers);
    await bench.occupy('stock');
    expect(await app.message('pay')).toEqual(CONTENDED);
    expect(await app.gateway('pay')).toMatchObject({ event: 'exception', data: UNKNOWN });
  });
});
