import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { LockService } from 'nestjs-redis-locks';
import { HOST } from '../../../lab/testbed/servers/ports.mjs';
import { COMMANDS, commandsUsed, IN_CLUSTER, refusals } from '../../../lab/testbed/servers/least-privilege.js';
import { leaveBeforeComing, playLockScenario } from '../../../lab/testbed/locks/lock-scenario.js';
import { LockBench, expectHandoff, timed, eventually, lockError } from '../../../lab/testbed/locks/locks.js';

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

const bench = new LockBench({ each: true });

/** Another client reads the record that a holder has written. */
async function seesLabelOf(service: LockService, url: string): Promise<void> {
  await using _lock = await service.acquire('labelled');
  const other = await bench.service({ connection: url, commandTimeout: 1_000 });
  await eventually(async () => (await other.inspect('labelled'))?.holders[0]?.label === service.label);
}

/** The actions of the library, beyond the scenario: every request that a service accepts. */
async function useEverything(url: string): Promise<void> {
  const service = await bench.service({ connection: url, commandTimeout: 1_000 });
  await playLockScenario(
    { start: (options) => bench.service(options) },
    { connection: url, key: 'a', observer: service },
  );
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
  await leaveBeforeComing(bench.redis, url);
  await eventually(async () => 'ping' in (await bench.redis.commandStats()), { within: 10_000, what: 'a heartbeat' });
}

it('needs no more than the documented commands, keys and channels, with the password in the URL', async () => {
  await bench.redis.admin.acl('SETUSER', 'locks', ...RULES);
  // The test's own commands run as another user.
  const url = bench.redis.url.replace('//', `//${LOGIN}`);
  await bench.redis.admin.acl('LOG', 'RESET');
  await useEverything(url);
  expect(await refusals(bench.redis.admin)).toEqual([]);
  // Entries that are kept for a limited time.
  await bench.redis.admin.del('lock:limit:{e}', 'lock:counted:{g}');
  await bench.untilNothingIsLeft();
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
  await bench.redis.admin.acl('SETUSER', 'locks', 'on', '>secret', '~*', '&*', '+@all');
  await bench.redis.resetCommandStats();
  await useEverything(bench.redis.url.replace('//', '//locks:secret@'));
  expect(await commandsUsed(bench.redis)).toEqual([...COMMANDS].sort());
});

describe('over TLS', () => {
  let port: number;
  let server: Server;

  // TLS ends before the server, as with many a managed Redis: so this needs no server that was built with it.
  beforeEach(async () => {
    await bench.redis.admin.acl('SETUSER', 'locks', ...RULES);
    server = createServer({ cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) }, (client) => {
      const upstream = connect(bench.redis.port, bench.redis.host);
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
  afterEach(() => void server.close());

  it('locks, hands over and releases over TLS, by ioredis options with the certificate', async () => {
    const connection = {
      host: HOST,
      port,
      username: 'locks',
      password: 'pass:word/with@all{that}',
      tls: { ca: readFileSync(CERTIFICATE) },
    };
    const [one, other] = await bench.pair({ connection });
    const { lock, waiting } = await bench.contended(one, other);
    await expectHandoff(lock, waiting);
    await bench.untilNothingIsLeft();
  });

  it('speaks TLS to rediss:// and refuses a certificate without a trusted issuer', async () => {
    const service = bench.make({ connection: `rediss://${LOGIN}${HOST}:${port}`, commandTimeout: 500 });
    const { error } = await timed(service.start());
    expect(error).toEqual(lockError('LOCK_STORE', /certificate/));
    const { error: refused } = await timed(service.tryAcquire('a'));
    expect(refused).toEqual(lockError('LOCK_STORE', /certificate/));
  });
});
