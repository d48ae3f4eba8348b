import { channel, tracingChannel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LockConnectionOption, LockService } from 'nestjs-redis-locks';
import { LOCK_CHANNELS } from '../../../lib/observation/diagnostics/index.js';
import { leaks } from './renderings.js';
import { LockBench, timed, eventually, startRedis, type RedisServer } from '../../../lab/testbed/locks/locks.js';

const PASSWORD = 'pass:word/with@all{that}';
const OTHER = 'another-Secret-77';
const KEY = readFileSync(fileURLToPath(new URL('../../../lab/testbed/servers/tls/key.pem', import.meta.url)), 'utf8');
const SECRETS = [PASSWORD, OTHER, KEY.split('\n')[1]!];

const bench = new LockBench({ records: true });
/** All that the library says without having been asked. */
const told: unknown[] = [];
const tell = (message: unknown): void => void told.push(message);
const consoleMethods = ['log', 'warn', 'error', 'debug', 'info'] as const;
const terminal = globalThis.console;
const originals = new Map(consoleMethods.map((name) => [name, terminal[name]]));
const { acquire: traced, ...evented } = LOCK_CHANNELS;
const subscribers = { start: tell, end: tell, asyncStart: tell, asyncEnd: tell, error: tell };

beforeEach(() => {
  for (const name of consoleMethods) terminal[name] = (...said: unknown[]) => void told.push(...said);
  for (const name of Object.values(evented)) channel(name).subscribe(tell);
  tracingChannel(traced).subscribe(subscribers);
  process.on('unhandledRejection', tell);
});
afterEach(async () => {
  for (const [name, original] of originals) terminal[name] = original;
  for (const name of Object.values(evented)) channel(name).unsubscribe(tell);
  tracingChannel(traced).unsubscribe(subscribers);
  process.off('unhandledRejection', tell);
  told.length = 0;
});

const redisWith = async (...args: string[]): Promise<RedisServer> => bench.endLater(await startRedis({ args }));

const withLogin = (redis: RedisServer, password: string, user = ''): string =>
  redis.url.replace('//', `//${user}:${encodeURIComponent(password)}@`);

/** Every request that a service accepts, and its outcome: values, errors, and their causes. */
async function useEverything(service: LockService): Promise<unknown[]> {
  const wait = { waitTimeout: 100 };
  const asked: Array<Promise<unknown>> = [
    service.start(),
    service.acquire('a', wait),
    service.acquire(['b', 'c'], wait),
    service.tryAcquire('d'),
    service.run('e', () => undefined, wait),
    service.inspect('a'),
    service.forceRelease('a'),
    service.health(),
    service.listKeys({ cursor: '', budget: 10 }),
    service.getLock('f').lock(wait),
    service.getLock('f', { owner: 'x' }).tryLock(),
    service.acquire('g', { ...wait, replicas: { min: 1, timeout: 50 } }),
  ];
  if (Reflect.get(service, 'engine').latches) {
    asked.push(
      service.getSemaphore('h', { permits: 1 }).acquire(1, wait),
      service.getCountDownLatch('i').trySetCount(1),
    );
    asked.push(service.getCountDownLatch('j').await('50ms'));
  }
  const outcomes = await Promise.all(asked.map((each) => timed(each)));
  return outcomes.map(({ value, error }) => error ?? value);
}

/** How a service behaves on a connection that is refused. */
async function refusedOn(connection: LockConnectionOption): Promise<any[]> {
  const service = bench.make({ connection, commandTimeout: 400 });
  const outcomes = await useEverything(service);
  return [...outcomes, service, ...bench.events, ...bench.lines, ...told];
}

const errorsAmong = (values: readonly any[]): any[] => values.filter((value) => value?.code === 'LOCK_STORE');

describe('errors, logs and events of the library contain no credentials', () => {
  it('wrong password, as a URL and as options', async () => {
    const redis = await redisWith('--requirepass', OTHER);
    for (const connection of [
      withLogin(redis, PASSWORD),
      { host: redis.host, port: redis.port, username: 'default', password: PASSWORD },
    ]) {
      const outcomes = await refusedOn(connection);
      expect(errorsAmong(outcomes).length).toBeGreaterThan(8);
      expect(errorsAmong(outcomes)[1].message).toContain('WRONGPASS');
      expect(leaks(SECRETS, outcomes)).toEqual([]);
      await bench.close();
    }
  });

  it('but keep the name, message and code of the error, and the name of the command', async () => {
    const redis = await redisWith('--requirepass', OTHER);
    const service = bench.make({ connection: withLogin(redis, PASSWORD), commandTimeout: 400 });
    const { error } = await timed(service.start().then(() => service.acquire('a')));
    expect(error.cause).toBeInstanceOf(Error);
    expect(error.cause).toMatchObject({
      name: 'ReplyError',
      message: expect.stringMatching(/^WRONGPASS /),
      command: { name: expect.stringMatching(/^(hello|auth)$/i) },
    });
    expect(Object.keys(error.cause.command)).toEqual(['name']);
    expect(error.cause.stack).toContain('WRONGPASS');
    const closed = await timed(bench.make({ connection: 'redis://127.0.0.1:1', commandTimeout: 300 }).start());
    expect(closed.error.cause).toMatchObject({ code: 'ECONNREFUSED', syscall: 'connect', port: 1 });
  });

  it('a server that does not know the command repeats its arguments', async () => {
    const redis = await redisWith('--rename-command', 'AUTH', '', '--rename-command', 'HELLO', '');
    const outcomes = await refusedOn(withLogin(redis, PASSWORD, 'ann'));
    const [{ message }] = errorsAmong(outcomes);
    expect(message).toMatch(/unknown command/);
    expect(leaks(SECRETS, outcomes)).toEqual([]);
  });

  it('a password that is changed under a holder and a waiter', async () => {
    const redis = await redisWith('--requirepass', PASSWORD);
    const admin = redis.client({ password: PASSWORD });
    const connection = withLogin(redis, PASSWORD);
    const service = await bench.service({ connection, commandTimeout: 300, renewedLease: '1s' });
    const handle = await service.acquire('held');
    const waiting = timed(service.acquire('held', { waitTimeout: '3s' }));
    await admin.config('SET', 'requirepass', OTHER);
    for (const type of ['normal', 'pubsub']) await admin.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
    await eventually(() => handle.signal.aborted, { within: 10_000, what: 'the loss' });
    const { error } = await waiting;
    const outcomes = [handle, handle.signal, handle.signal.reason, error, ...(await useEverything(service))];
    expect(errorsAmong(outcomes).length).toBeGreaterThan(5);
    expect(leaks(SECRETS, [...outcomes, service, ...bench.events, ...bench.lines, ...told])).toEqual([]);
  });

  it('a user without permissions', async () => {
    const redis = await redisWith();
    await redis.admin.acl('SETUSER', 'ann', 'reset', 'on', `>${PASSWORD}`, '~other:*', '+@all', '-subscribe');
    const outcomes = await refusedOn(withLogin(redis, PASSWORD, 'ann'));
    expect(errorsAmong(outcomes).map(({ message }) => message)).toContainEqual(expect.stringContaining('NOPERM'));
    expect(leaks(SECRETS, outcomes)).toEqual([]);
  });

  it('TLS to a server without TLS, with a key, and with a passphrase of the wrong type', async () => {
    const redis = await redisWith();
    const { host, port } = redis;
    for (const tls of [{ key: KEY, passphrase: PASSWORD }, { passphrase: OTHER }, { key: [{ pem: KEY }] as any }]) {
      const outcomes = await refusedOn({ host, port, password: OTHER, tls });
      expect(errorsAmong(outcomes).length).toBeGreaterThan(5);
      expect(leaks(SECRETS, outcomes)).toEqual([]);
      await bench.close();
    }
  });

  it("a client of the user's", async () => {
    const redis = await redisWith('--requirepass', OTHER);
    const client = redis.client({ password: PASSWORD, lazyConnect: true });
    const outcomes = await refusedOn(client);
    expect(errorsAmong(outcomes).length).toBeGreaterThan(5);
    expect(leaks(SECRETS, outcomes)).toEqual([]);
  });
});

describe('objects of the library reveal no credentials', () => {
  /** One of each kind of object, on a connection that works. */
  async function objectsOn(connection: LockConnectionOption): Promise<unknown[]> {
    const service = await bench.service({ connection });
    const owned = await service.acquire('owned', { owner: 'ann' });
    const both = await service.getReadWriteLock('rw').readLock().lock();
    const election = service.getLeaderElection('led').start();
    await eventually(() => election.isLeader);
    const semaphores = Array.isArray(connection) ? [] : [service.getSemaphore('s', { permits: 2 })];
    const latches = Array.isArray(connection) ? [] : [service.getCountDownLatch('l')];
    const several = await service.acquire(['m1', 'm2']);
    const objects = [service, owned, both, several, election, ...semaphores, ...latches];
    const locked = [service.getLock('x'), service.getFairLock('x'), service.getMultiLock(['x', 'y'])];
    const others = [service.events, service.defaults, owned.signal, await service.inspect('owned'), ...bench.events];
    return [...objects, ...locked, ...others, election.handle, await service.health()];
  }

  it('one server, by URL, by options and by a client', async () => {
    const redis = await redisWith('--requirepass', PASSWORD);
    const { host, port } = redis;
    for (const connection of [
      withLogin(redis, PASSWORD),
      { host, port, password: PASSWORD },
      redis.client({ password: PASSWORD }),
    ]) {
      expect(leaks(SECRETS, await objectsOn(connection))).toEqual([]);
      await bench.close();
    }
  });
});
