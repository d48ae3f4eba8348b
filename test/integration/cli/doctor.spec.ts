import { readFileSync } from 'node:fs';
import { createLockClient } from 'nestjs-redis-locks/client';
import { cli } from './cli.js';
import { startRedis, type RedisServer, eventually } from '../../../lab/testbed/locks/locks.js';
import { SkewedMaster } from '../../../lab/testbed/clocks/skewed-master.mjs';
import { checksOfServer, readReport } from './support.js';
import { LockServices } from '../../../lab/testbed/locks/lock-services.js';

let redis: RedisServer;
const services = new LockServices();
const start = (options: object) => services.start({ connection: redis.url, ...options });
afterEach(() => services.closeAll());
beforeAll(async () => {
  redis = await startRedis({ persistent: true });
});
afterEach(async () => {
  await redis.admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
  await redis.admin.config('SET', 'timeout', '0', 'client-output-buffer-limit', 'pubsub 32mb 8mb 60');
  await redis.admin.acl('DELUSER', 'locks');
});
afterAll(() => redis.stop());

const examined = async (url = redis.url, ...args: string[]) =>
  readReport(await cli(url, ['doctor', '--json', ...args]));

/** The rules that docs/deploy.md gives a user of its own, one by one. */
const RULES = /^ACL SETUSER locks ([^]*?)^```/m
  .exec(readFileSync(new URL('../../../docs/deploy.md', import.meta.url), 'utf8'))![1]!
  .trim()
  .split(/\s+/);

/** A user with the documented rules, but for some. */
async function userWithout(...missing: string[]): Promise<string> {
  await redis.admin.acl('SETUSER', 'locks', 'reset', ...RULES.filter((rule) => !missing.includes(rule)));
  return redis.url.replace('//', '//locks:password@');
}

const finding = (status: string, found: RegExp | string): object => ({
  ...{ status, found: typeof found === 'string' ? expect.stringContaining(found) : expect.stringMatching(found) },
});

describe('doctor with a key', () => {
  const layout = async (key: string) => (await examined(redis.url, key)).about('layout');
  const uuid = '00000000-0000-4000-8000-000000000000';
  afterEach(() => redis.admin.flushall());

  it('says whether a key is used in the layout of this library, in that of Redisson, or in both', async () => {
    expect(await layout('orders')).toMatchObject([finding('ok', /is free/)]);
    await redis.admin.hset('lock:state:{orders}', 'a', '1');
    expect(await layout('orders')).toMatchObject([finding('ok', /this library only; .*write protocol: redisson/)]);
    await redis.admin.hset('orders', `${uuid}:42`, '1');
    expect(await layout('orders')).toMatchObject([finding('warning', /do not exclude each other/)]);
    await redis.admin.del('lock:state:{orders}');
    const [found] = await layout('orders');
    expect(found).toMatchObject(finding('warning', /Redisson only/));
    expect(found!.advice).toMatch(/write protocol: redisson\(\)/);
  });

  it.each([
    ['a reader or writer', () => redis.admin.hset('orders', 'mode', 'write', `${uuid}:1:write`, '1')],
    ['a fair waiter', () => redis.admin.rpush('redisson_lock_queue:{orders}', `${uuid}:1`)],
    ['a permit', () => redis.admin.zadd('{orders}:timeout', 1, 'permit')],
  ])('recognizes %s of Redisson', async (_kind, write) => {
    await write();
    expect((await layout('orders'))[0]!.found).toMatch(/Redisson only/);
  });

  it.each([
    [
      'a semaphore',
      'redisson_sc:{orders}',
      '0',
      /only: .*a semaphore with 0 free permits, for which 1 client waits\. .*do not show .*taken/,
    ],
    [
      'a latch',
      'redisson_countdownlatch__channel__{orders}',
      '3',
      /only: .*an RCountDownLatch with the count 3, for which 1 client waits\. .*do not show .*count it down/,
    ],
  ])('recognizes %s of Redisson by its waiters', async (_kind, channel, value, found) => {
    await redis.admin.set('orders', value);
    const waiter = redis.admin.duplicate();
    await waiter.subscribe(channel);
    const [first] = await layout('orders');
    waiter.disconnect();
    expect(first).toMatchObject(finding('warning', found));
  });

  it('says what a number may be for which no client waits', async () => {
    const latch =
      /an RSemaphore with 3 free permits, or an RCountDownLatch with the count 3, or a number of another program\. The data in Redis do not show which/;
    const noLatch = /an RSemaphore with \d free permits, or a number of another program\./;
    await redis.admin.set('orders', '3');
    expect((await layout('orders'))[0]).toMatchObject(finding('ok', latch));
    // A latch has no TTL, and the count-down to 0 deletes it.
    await redis.admin.pexpire('orders', 60_000);
    expect((await layout('orders'))[0]!.found).toMatch(noLatch);
    await redis.admin.set('orders', '0');
    expect((await layout('orders'))[0]!.found).toMatch(noLatch);
    await redis.admin.zadd('{orders}:timeout', 1, 'permit');
    expect((await layout('orders'))[0]).toMatchObject(
      finding('warning', /a semaphore with 0 free permits\. .*do not show how many permits an RSemaphore/),
    );
  });

  it('finds a latch of this library', async () => {
    const locks = await createLockClient({ connection: redis.url });
    await locks.getCountDownLatch('orders').trySetCount(1);
    expect((await layout('orders'))[0]).toMatchObject(finding('ok', /this library only/));
    await locks.close();
  });

  it('takes no other hash or text for an object of Redisson', async () => {
    await redis.admin.hset('orders', 'name', 'a', 'mode', 'dark');
    await redis.admin.set('text', 'one');
    for (const key of ['orders', 'text']) expect((await layout(key))[0]).toMatchObject({ status: 'ok' });
  });

  it('says what its user has to be allowed', async () => {
    const [found] = (await examined(await userWithout(), 'orders')).about('layout');
    expect(found).toMatchObject(finding('warning', 'NOPERM'));
    expect(found!.advice).toContain("the key 'orders'");
  });
});

describe('doctor', () => {
  it('finds no problem on a healthy server, and leaves only tokens and records, which expire', async () => {
    const { code, ok, amiss, findings } = await examined();
    expect({ code, ok, amiss }).toEqual({ code: 0, ok: true, amiss: [] });
    const checks = [...checksOfServer(), 'clients', 'deadlocks', 'a lock', 'features'];
    expect(findings.map(({ check }) => check)).toEqual(checks);
    expect(findings.at(-1)!.found).toBe(
      'contended locks, several keys, readers and permits, latches, lists, replicas work',
    );
    const left = await redis.admin.keys('*');
    expect(left.filter((key) => !/^lock:(client|fence|tombstones|counted):/.test(key))).toEqual([]);
    for (const key of left) expect(await redis.admin.pttl(key)).toBeGreaterThan(0);
  });

  it('writes readable text, too', async () => {
    await redis.admin.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'volatile-lru');
    const { stdout, code } = await cli(redis.url, ['doctor']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^ok {7}server version: (Redis|Valkey) /m);
    expect(stdout).toMatch(
      /^problem {2}eviction policy: volatile-lru.*\n {9}→ CONFIG SET maxmemory-policy noeviction/m,
    );
  });

  it('warns of a policy that would evict with a maxmemory', async () => {
    await redis.admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const { code, amiss } = await examined();
    expect([code, amiss]).toEqual([0, [expect.objectContaining({ status: 'warning', check: 'eviction policy' })]]);
  });

  it('warns of a Redis without persistence, of idle timeouts and of small output buffers', async () => {
    await using forgetful = await startRedis();
    await forgetful.admin.config('SET', 'timeout', '60', 'client-output-buffer-limit', 'pubsub 4kb 0 0');
    const { code, amiss } = await examined(forgetful.url);
    expect(code).toBe(0);
    expect(amiss.map(({ status, check, found }) => [status, check, found])).toEqual([
      ['warning', 'persistence', expect.stringContaining('no append-only file')],
      ['warning', 'idle timeout', expect.stringContaining('idle for 60 s')],
      ['warning', 'output buffers', expect.stringContaining('pubsub 4096 0 0')],
    ]);
  });

  it('names two processes that wait for each other', async () => {
    const [one, other] = [await start({ label: 'one:1' }), await start({ label: 'other:1' })];
    const [a, b] = [await one.acquire('a'), await other.acquire('b')];
    const waits = [one.acquire('b', { waitTimeout: '1h' }), other.acquire('a', { waitTimeout: '1h' })];
    const found = await eventually(async () => {
      const [deadlock] = (await examined()).about('deadlocks');
      return deadlock!.status === 'warning' ? deadlock!.found : undefined;
    });
    expect(found).toMatch(/one:1 has waited for 'b' for .*, which other:1 holds/);
    expect(found).toMatch(/other:1 has waited for 'a' for .*, which one:1 holds/);
    await Promise.all([a.release(), b.release()]);
    await Promise.all(waits.map(async (wait) => (await wait).release()));
  });

  it('names the clients of the prefix, and the prefixes of others', async () => {
    const service = await start({ keyPrefix: 'shop:lock', label: 'shop:1' });
    await service.acquire('a');
    await eventually(async () => (await redis.admin.exists(`shop:lock:client:${service.clientId}`)) === 1);
    await eventually(async () => (await redis.admin.pubsub('CHANNELS', 'shop:lock:client:*')).length === 1);
    const [wrong, right] = await Promise.all([examined(), examined(redis.url, '-p', 'shop:lock')]);
    expect(wrong.amiss).toMatchObject([
      { status: 'warning', check: 'clients', found: expect.stringContaining("others have the prefix 'shop:lock'") },
    ]);
    expect(right.about('clients')).toMatchObject([
      { status: 'ok', found: "1 connected with the prefix 'shop:lock': shop:1" },
    ]);
    // Two applications on one Redis, one of which has held nothing yet.
    const idle = await start({ label: 'orders:1' });
    await eventually(async () => (await redis.admin.pubsub('CHANNELS', `lock:client:${idle.clientId}`)).length === 1);
    expect((await examined()).about('clients')).toMatchObject([
      {
        status: 'warning',
        found: `1 connected with the prefix 'lock': ${idle.clientId.slice(0, 8)}; other clients have the prefix 'shop:lock'`,
      },
    ]);
  });

  it('warns of masters whose clocks differ', async () => {
    await using second = await startRedis();
    await using third = await startRedis();
    await using ahead = await new SkewedMaster(third, 5_000).listen();
    const masters = await examined(redis.url, ...[redis.url, second.url, ahead.url].flatMap((url) => ['-c', url]));
    expect(masters.about('clocks')).toMatchObject([finding('warning', /differ by \d{4} ms: .*:(\d+) is ahead of/)]);
  });

  it('finds no problem with the documented permissions, except those of the program itself', async () => {
    const { code, amiss, about } = await examined(await userWithout());
    expect(code).toBe(0);
    // The user may not ask who is connected.
    expect(about('clients')).toEqual([]);
    expect(amiss).toEqual([
      ...['+scan', '+config|get', '+pubsub|channels'].map((rule) =>
        expect.objectContaining({ status: 'warning', check: 'permissions', advice: expect.stringContaining(rule) }),
      ),
      expect.objectContaining({
        status: 'warning',
        check: 'features',
        found: expect.stringMatching(/work.*: lists \(/),
      }),
    ]);
    await redis.admin.acl('SETUSER', 'locks', '+scan', '+config|get', '+pubsub|channels');
    expect((await examined(redis.url.replace('//', '//locks:password@'))).amiss).toEqual([]);
  });

  it.each([
    ['PUBSUB', 'pubsub|numsub', /retry every 3 s/],
    ['PUBLISH', 'publish', /retry every 3 s/],
    ['UNLINK', 'unlink', /locks fail/],
    ['ZREVRANGE', 'zrevrange', /locks fail/],
    ['TIME', 'time', /locks fail/],
    ['EVALSHA', 'evalsha', /locks fail/],
  ])('fails on a server without %s, and names it', async (renamed, command, effect) => {
    await using server = await startRedis({ args: ['--rename-command', renamed, ''] });
    const { code, about } = await examined(server.url);
    expect(code).toBe(3);
    const [missing] = about('commands');
    expect(missing).toMatchObject({ status: 'problem', found: expect.stringMatching(effect) });
    expect(missing!.found).toMatch(
      new RegExp(`lacks 1 of the commands that locks need: ${command.replace('|', '\\|')}\\.`),
    );
  });

  it.each([
    ['PUBSUB', 'problem', 'contended locks'],
    ['WAIT', 'warning', 'replicas'],
  ])('says which features work on a server without %s', async (renamed, status, feature) => {
    await using server = await startRedis({ args: ['--rename-command', renamed, ''] });
    const { about } = await examined(server.url);
    expect(about('features')).toMatchObject([
      { status, found: expect.stringContaining(`work as they should: ${feature} (`) },
    ]);
  });

  it('fails on a server without SUBSCRIBE', async () => {
    await using server = await startRedis({ args: ['--rename-command', 'SUBSCRIBE', ''] });
    const { code, about } = await examined(server.url, '-t', '1s');
    expect(code).toBe(3);
    expect(about('pub/sub')).toMatchObject([{ status: 'problem', found: expect.stringMatching(/unknown command/) }]);
  });

  it('names each missing permission as an ACL rule', async () => {
    // INFO, PING, WAIT and SCAN are optional, and a user without the right to subscribe has a finding of its own.
    const apart = ['+info', '+ping', '+wait', '+subscribe'];
    const commands = RULES.filter((rule) => rule.startsWith('+') && !apart.includes(rule));
    const { code, about } = await examined(await userWithout(...commands, ...apart), '-t', '1s');
    expect(code).toBe(3);
    const [missing, ...optional] = about('permissions');
    expect(missing!.advice!.replace('ACL SETUSER locks ', '').split(' ').sort()).toEqual([...commands].sort());
    expect(optional.map(({ status, advice }) => [status, advice])).toEqual([
      ['warning', expect.stringContaining('+wait')],
      ['warning', expect.stringContaining('+scan')],
      ['warning', expect.stringContaining('+info')],
      ['warning', expect.stringContaining('+config|get')],
      ['warning', expect.stringContaining('+pubsub|channels')],
      ['warning', expect.stringContaining('+ping')],
    ]);
    expect(about('pub/sub')).toMatchObject([{ status: 'problem', advice: expect.stringContaining('+subscribe') }]);
  });

  it('names keys and channels that the user may not access', async () => {
    const { about } = await examined(await userWithout('~lock:*', '&lock:client:*'), '-t', '1s');
    expect(about('permissions')[0]!.advice).toBe('ACL SETUSER locks ~lock:* &lock:client:*');
    expect(about('pub/sub')).toMatchObject([{ status: 'problem' }]);
    expect(about('a lock')).toMatchObject([{ status: 'problem', found: expect.stringContaining('permission') }]);
  });

  it('recognizes a replica, and checks each of several masters', async () => {
    await using second = await startRedis();
    await using third = await startRedis();
    const masters = await examined(redis.url, ...[redis, second, third].flatMap(({ url }) => ['-c', url]));
    const forgetful = masters.amiss.map(({ check, status }) => [check, status]);
    expect(forgetful).toEqual([second, third].map(({ port }) => [`127.0.0.1:${port} persistence`, 'warning']));
    await third.admin.replicaof(redis.host, redis.port);
    const { code, about } = await examined(third.url);
    expect(code).toBe(3);
    expect(about('role')).toMatchObject([{ status: 'problem', found: expect.stringContaining(`:${redis.port}`) }]);
  });
});
