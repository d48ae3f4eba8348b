import { Controller, Get, Injectable, type OnApplicationShutdown, Module, type OnModuleDestroy } from '@nestjs/common';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  findCurrentLock,
  DistributedLock,
  LockService,
  RedisLockModule,
  type RedisLockModuleOptions,
} from 'nestjs-redis-locks';
import { Test } from '@nestjs/testing';
import { createClient } from 'redis';
import { startRedisCluster } from '../../../lab/testbed/servers/redis-cluster.mjs';
import { WorkerProcess } from '../../../lab/testbed/workers/processes.mjs';
import { NestBench, Work } from './support.js';
import { AT_ONCE, deferred, eventually, throughout, redisKey } from '../../../lab/testbed/locks/locks.js';

const bench = new NestBench();

@Injectable()
@Controller()
class Jobs {
  readonly work = new Work<string>();
  signal: AbortSignal | undefined;

  @Get()
  @DistributedLock('job')
  run(): Promise<string> {
    this.signal = findCurrentLock()?.signal;
    return this.work.run();
  }
}

const isLocked = async (key: string) => (await bench.redis.admin.keys(`lock:state:{${key}}`)).length > 0;

/** Closes an application during a request that holds a lock until `work` ends. */
async function closeDuringRequest(options: Partial<RedisLockModuleOptions> = {}) {
  const builder = bench.build({ controllers: [Jobs] }, options);
  const { app, url } = await bench.listen(builder, { forceCloseConnections: false });
  const answer = fetch(url, { headers: { connection: 'close' } });
  const jobs = app.get(Jobs);
  await jobs.work.begun;
  return { work: jobs.work, answer, closing: app.close(), signal: jobs.signal! };
}

describe('shutdown', () => {
  it('waits for holders, and their work completes', async () => {
    const app = await bench.boot({ providers: [Jobs] });
    const jobs = app.get(Jobs);
    const result = jobs.run();
    await jobs.work.begun;
    let closed = false;
    const closing = app.close().then(() => (closed = true));
    await throughout(100, () => !closed);
    expect(await isLocked('job')).toBe(true);
    jobs.work.end.resolve('done');
    expect(await result).toBe('done');
    await closing;
    expect(await isLocked('job')).toBe(false);
  });

  it('waits for shutdownTimeout at most, notifies the holder, and releases', async () => {
    const app = await bench.boot({ providers: [Jobs] }, { shutdownTimeout: 100 });
    const jobs = app.get(Jobs);
    const result = jobs.run();
    await jobs.work.begun;
    const began = performance.now();
    await app.close();
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(await isLocked('job')).toBe(false);
    expect(jobs.signal?.aborted).toBe(true);
    jobs.work.end.resolve('late');
    await expect(result).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'late' });
  });

  it('says to later calls that read or change locks that the application has shut down', async () => {
    const app = await bench.boot();
    const locks = app.get(LockService);
    await app.close();
    const refusal = {
      code: 'LOCK_STORE',
      transient: false,
      message:
        'the application has shut down, make this call before app.close(): locks can neither be read nor changed any more',
    };
    await expect(locks.inspect('a')).rejects.toMatchObject(refusal);
    await expect(locks.forceRelease('a')).rejects.toMatchObject(refusal);
    await expect(locks.list().next()).rejects.toMatchObject(refusal);
  });

  it('rejects waiters, and leaves nothing of them', async () => {
    const app = await bench.boot({ providers: [Jobs] });
    await bench.occupy('job');
    const result = app.get(Jobs).run();
    const rejected = expect(result).rejects.toThrow(/shut/i);
    await bench.untilWaiting('job', 1);
    await app.close();
    await rejected;
    expect(await bench.redis.admin.zcard('lock:queue:{job}')).toBe(0);
  });

  it('keeps and names the locks of a request that does not end', async () => {
    const { work, answer, closing, signal } = await closeDuringRequest();
    await eventually(() => bench.warnings.find((line) => /open requests for \d+ s, .* holds: 'job'/.test(line)));
    expect([await isLocked('job'), signal.aborted]).toEqual([true, false]);
    work.end.resolve('paid');
    expect(await (await answer).text()).toBe('paid');
    await closing;
    expect(await isLocked('job')).toBe(false);
  });

  it('releases the lock of a request that does not end after drainTimeout and shutdownTimeout', async () => {
    const { work, answer, closing, signal } = await closeDuringRequest({ drainTimeout: 50, shutdownTimeout: 50 });
    await eventually(async () => !(await isLocked('job')));
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', lossReason: 'shutdown' });
    work.end.resolve('paid');
    await Promise.all([answer, closing]);
  });

  it('leaves no connection behind, and does not close those of the application', async () => {
    const own = new Redis(bench.redis.url);
    const connections = async () => ((await bench.redis.admin.client('LIST')) as string).trim().split('\n').length;
    await own.ping();
    const before = await connections();
    const app = await bench.boot({ imports: [RedisLockModule.forRoot({ instance: 'own', connection: own })] });
    await app.get(LockService).run('a', () => undefined);
    expect(await connections()).toBeGreaterThan(before);
    await app.close();
    await eventually(async () => (await connections()) === before);
    expect(await own.ping()).toBe('PONG');
    own.disconnect();
  });
});

it('an election passes to another replica while the closing replica still finishes its work', async () => {
  const busy = deferred();
  @Injectable()
  class Mailer implements OnApplicationShutdown {
    /** Work that takes its time, after every provider was notified of the shutdown. */
    onApplicationShutdown = (): Promise<void> => busy;
  }
  const [first, second] = [await bench.boot({ providers: [Mailer] }), await bench.boot()];
  const [leader, next] = [first, second].map((app) => app.get(LockService).getLeaderElection('mailer'));
  leader!.start();
  await eventually(() => leader!.isLeader);
  next!.start();
  await bench.untilWaiting('mailer', 1);
  const { signal } = leader!;
  let closed = false;
  const closing = first.close().then(() => (closed = true));
  await eventually(() => next!.isLeader);
  expect([leader!.isLeader, signal!.aborted, closed]).toEqual([false, true, false]);
  busy.resolve();
  const since = performance.now();
  await closing;
  expect(performance.now() - since).toBeLessThan(2_000);
  expect(next!.isLeader).toBe(true);
});

it('an application that is closed while it starts does not keep its process running', async () => {
  const intervals = jest.spyOn(globalThis, 'setInterval');
  const isKept = (): boolean => intervals.mock.results.some(({ value }) => (value as NodeJS.Timeout).hasRef());
  const [closed, other] = [await bench.build({}).compile(), await bench.build({}).compile()];
  await closed.get(LockService).close();
  await closed.init();
  expect(isKept()).toBe(false);
  bench.closeLater(await other.init());
  expect(isKept()).toBe(true);
});

describe('an application that fails to start', () => {
  const file = new URL('../../../lab/testbed/workers/failing-start-worker.mjs', import.meta.url);
  const ends = async (connection: unknown, when: string): Promise<void> => {
    await using worker = new WorkerProcess(file, { args: [JSON.stringify(connection), when] });
    await worker.next(({ event }) => event === 'failed');
    expect(await worker.exited).toEqual({ code: 0, signal: null });
  };

  it.each(['factory', 'hook'])('ends its process: in a %s', (when) => ends(bench.redis.url, when));

  it.each(['factory', 'hook'])('ends its process without Redis: in a %s', (when) => ends('redis://127.0.0.1:1', when));

  it('ends its process in front of a Cluster', async () => {
    await using cluster = await startRedisCluster();
    await ends({ cluster: cluster.addresses }, 'hook');
    await ends({ cluster: ['redis://127.0.0.1:1'] }, 'hook');
  });
});

type NodeRedis = ReturnType<typeof createClient>;

/** A module of the application that has a connection and closes it early, as the queue of BullMQ does. */
function connectionModule(open: () => object, close: (client: never) => unknown) {
  const client = open();

  @Module({ providers: [{ provide: 'REDIS', useValue: client }], exports: ['REDIS'] })
  class ConnectionModule implements OnModuleDestroy {
    async onModuleDestroy(): Promise<void> {
      await close(client as never);
    }
  }
  return ConnectionModule;
}

it.each<[string, () => object, (client: never) => unknown]>([
  ['ioredis', () => bench.redis.client(), (client: Redis) => client.quit()],
  ['node-redis', () => createClient({ url: bench.redis.url }), (client: NodeRedis) => client.isOpen && client.close()],
  [
    'node-redis, which is connected and destroyed',
    () => {
      const client = createClient({ url: bench.redis.url });
      client.on('error', () => undefined);
      void client.connect();
      return client;
    },
    (client: NodeRedis) => client.destroy(),
  ],
])('with the connection of the application, app.close() frees the keys at once: %s', async (_client, open, close) => {
  const connections = connectionModule(open, close);
  const testing = Test.createTestingModule({
    imports: [
      connections,
      RedisLockModule.forRootAsync({
        imports: [connections],
        inject: ['REDIS'],
        useFactory: (connection: Redis) => ({ connection, shutdownTimeout: '10s' }),
      }),
    ],
    providers: [Jobs],
  });
  const app = await (await testing.compile()).createNestApplication().init();
  const jobs = app.get(Jobs);
  const held = await app.get(LockService).acquire('held');
  const result = jobs.run();
  await jobs.work.begun;
  const closing = app.close();
  jobs.work.end.resolve('done');
  expect(await result).toBe('done');
  expect(await held.release()).toBe(true);
  const began = performance.now();
  await closing;
  expect(performance.now() - began).toBeLessThan(AT_ONCE);
  expect(await bench.redis.admin.exists(redisKey('state', 'held'), redisKey('state', 'job'))).toBe(0);
});
