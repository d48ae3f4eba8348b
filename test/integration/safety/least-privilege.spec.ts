import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { LockService } from 'nestjs-redis-locks';
import { HOST } from '../../../lab/testbed/servers/ports.mjs';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { FaultLocks, nothingLeftBehind, timed } from '../../../lab/testbed/locks/fault-locks.js';
import { useRedisForEach } from '../../../lab/testbed/locks/fault-setups.js';
import { COMMANDS, commandsUsed, IN_CLUSTER, refusals } from '../../../lab/testbed/servers/least-privilege.js';
import { leaveBeforeComing, playLockScenario } from '../../../lab/testbed/locks/lock-scenario.js';
import type { RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

const RULES = [
  'reset',
  'on',
  '>pass:word/with@all{that}',
  '~lock:*',
  'resetchannels',
  '&lock:client:*',
  ...COMMANDS.map((name) => `+${name}`),
];
/** Everything that could end a host or a path in a URL is percent-encoded. */
const LOGIN = `locks:${encodeURIComponent('pass:word/with@all{that}')}@`;

const CERTIFICATE = fileURLToPath(new URL('../../../lab/testbed/servers/tls/cert.pem', import.meta.url));
const KEY = fileURLToPath(new URL('../../../lab/testbed/servers/tls/key.pem', import.meta.url));

const locks = new FaultLocks();
let redis: RedisServer;
useRedisForEach(locks, (started) => (redis = started));

/** Another client reads the record that a holder has written. */
async function seesLabelOf(service: LockService, url: string): Promise<void> {
  await using _lock = await service.acquire('labelled');
  const other = await locks.start(url, { commandTimeout: 1_000 });
  await eventually(async () => (await other.inspect('labelled'))?.holders[0]?.label === service.label);
}

/** The actions of the library, beyond the scenario: every request that a service accepts. */
async function useEverything(url: string): Promise<void> {
  const service = await locks.start(url, { commandTimeout: 1_000 });
  await playLockScenario(locks, { connection: url, key: 'a', observer: service });
  await service.acquire('b');
  const given = service.acquire('b', { signal: AbortSignal.timeout(50), owner: 'x' });
  await given.catch(() => undefined);
  expect(await service.forceRelease('b')).toBe(true);
  await (await service.acquire(['c', 'd'])).release();
  await seesLabelOf(service, url);
  const semaphore = service.getSemaphore('e', { permits: 2 });
  await semaphore.setPermits(3);
  await (await semaphore.acquire(2)).release();
  // There are none.
  await service.acquire('f', { replicas: { min: 1, timeout: 50 } }).catch(() => undefined);
  const latch = service.getCountDownLatch('g');
  await latch.trySetCount(1);
  const opened = latch.await();
  await latch.countDown();
  expect(await opened).toBe(true);
  // More than scripts read in one piece.
  const readers = await Promise.all(
    Array.from({ length: 250 }, () => service.acquire('h', { kind: 'read', fair: true })),
  );
  expect((await service.inspect('h'))!.holds).toBe(readers.length);
  await Promise.all(readers.map((reader) => reader.release()));
  await leaveBeforeComing(redis, url);
  await eventually(async () => 'ping' in (await redis.commandStats()), { within: 10_000, what: 'a heartbeat' });
}

it('needs no more than the documented commands, keys and channels, with the password in the URL', async () => {
  await redis.admin.acl('SETUSER', 'locks', ...RULES);
  // The test's own commands run as another user.
  const url = redis.url.replace('//', `//${LOGIN}`);
  await redis.admin.acl('LOG', 'RESET');
  await useEverything(url);
  expect(await refusals(redis.admin)).toEqual([]);
  // Entries that are kept for a limited time.
  await redis.admin.del('lock:limit:{e}', 'lock:counted:{g}');
  await nothingLeftBehind(redis);
});

describe('docs/deploy.md', () => {
  const text = readFileSync(new URL('../../../docs/deploy.md', import.meta.url), 'utf8');

  it('lists the same rules', () => {
    const [, rules = ''] = /^ACL SETUSER locks ([^]*?)^```/m.exec(text) ?? [];
    const documented = rules.trim().split(/\s+/);
    expect(documented).toEqual(expect.arrayContaining(['resetkeys', 'nocommands']));
    const tested = RULES.map((rule) => (rule.startsWith('>') ? '>password' : rule));
    // A new user has neither keys nor commands, as after `reset`.
    const resets = (rule: string): boolean => ['reset', 'resetkeys', 'nocommands'].includes(rule);
    expect(documented.filter((rule) => !resets(rule)).sort()).toEqual(tested.filter((rule) => !resets(rule)).sort());
  });

  it('names the further commands for a Cluster', () => {
    const [paragraph = ''] = text.split(/\n(?:\n|- )/).filter((each) => each.includes('ssubscribe'));
    const named = [...paragraph.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => code!.replaceAll('+', '').split(' '));
    expect(named.sort()).toEqual([...IN_CLUSTER].sort());
  });
});

it('needs each of the documented commands', async () => {
  await redis.admin.acl('SETUSER', 'locks', 'on', '>secret', '~*', '&*', '+@all');
  await redis.resetCommandStats();
  await useEverything(redis.url.replace('//', '//locks:secret@'));
  expect(await commandsUsed(redis)).toEqual([...COMMANDS].sort());
});

describe('over TLS', () => {
  let port: number;
  let server: Server;

  // TLS ends before the server, as with many a managed Redis: so this needs no server that was built with it.
  beforeEach(async () => {
    await redis.admin.acl('SETUSER', 'locks', ...RULES);
    server = createServer({ cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) }, (client) => {
      const upstream = connect(redis.port, redis.host);
      client.pipe(upstream).pipe(client);
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        one.on('error', () => undefined);
        one.on('close', () => other.destroy());
      }
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0, HOST);
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    await locks.closeAll();
    server.close();
  });

  it('locks, hands over and releases over TLS, by ioredis options with the certificate', async () => {
    const connection = {
      host: HOST,
      port,
      username: 'locks',
      password: 'pass:word/with@all{that}',
      tls: { ca: readFileSync(CERTIFICATE) },
    };
    const [one, other] = [await locks.start(connection), await locks.start(connection)];
    const handle = await one.acquire('a');
    const waiting = other.acquire('a');
    await eventually(async () => (await one.inspect('a'))?.waiters.length === 1);
    expect(await handle.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
    await nothingLeftBehind(redis);
  });

  it('speaks TLS to rediss:// and refuses a certificate without a trusted issuer', async () => {
    const service = locks.make(`rediss://${LOGIN}${HOST}:${port}`, { commandTimeout: 500 });
    const { error } = await timed(service.start());
    expect(error).toMatchObject({ code: 'LOCK_STORE', message: expect.stringMatching(/certificate/) });
    const { error: refused } = await timed(service.tryAcquire('a'));
    expect(refused).toMatchObject({ code: 'LOCK_STORE', message: expect.stringMatching(/certificate/) });
  });
});
