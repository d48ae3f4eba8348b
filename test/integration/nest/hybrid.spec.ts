import { once } from 'node:events';
import { Controller, Get, Injectable, UseFilters, type INestApplication } from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, Transport, type ClientProxy } from '@nestjs/microservices';
import { ExpressAdapter } from '@nestjs/platform-express';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { WebSocket } from 'ws';
import { DistributedLock, LockExceptionFilter, UseLock } from 'nestjs-redis-locks';
import { findFreePort } from '../../../lab/testbed/servers/ports.mjs';
import { NestBench } from './support.js';

const bench = new NestBench();
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
class Orders {
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
  const module = await bench.build({ controllers: [Orders], providers: [Stock, ...providers] }).compile();
  const app = module.createNestApplication(new ExpressAdapter(), { logger: false });
  bench.closeLater(app);
  app.useWebSocketAdapter(new WsAdapter(app));
  configure(app);
  const where = {
    transport: Transport.TCP as Transport.TCP,
    options: { host: '127.0.0.1', port: await findFreePort() },
  };
  app.connectMicroservice(where, { inheritAppConfig });
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  const client = ClientProxyFactory.create(where);
  clients.push(client);
  return {
    http: async () => {
      const response = await fetch(`${await app.getUrl()}/pay`, { headers: { connection: 'close' } });
      return { status: response.status, body: response.status === 200 ? await response.text() : await response.json() };
    },
    message: (pattern) => firstValueFrom(client.send<unknown>(pattern, {})).catch((error: unknown) => error),
    gateway: async (event) => {
      const socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
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

  it('answers HTTP only without inheritAppConfig', async () => {
    const app = await start(false, useFilter);
    await bench.occupy('stock');
    expect(await app.http()).toMatchObject({ status: 423 });
    expect(await app.message('pay')).toMatchObject(UNKNOWN);
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
