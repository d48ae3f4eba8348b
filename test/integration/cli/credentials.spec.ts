import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LockState } from 'nestjs-redis-locks';
import { createLockClient } from 'nestjs-redis-locks/client';
import { cli, program, type CliResult } from './cli.js';
import { readReport } from './support.js';
import { SilentPort } from '../../../lab/testbed/proxies/silent-port.mjs';
import { overlapping } from '../../../lab/testbed/wait/overlapping.js';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { startRedisSentinels, type RedisSentinels } from '../../../lab/testbed/servers/redis-sentinels.mjs';

const PASSWORD = 'pass:word/with@all{that}';
const ENCODED = encodeURIComponent(PASSWORD);

let guarded: RedisServer;
/** Does not know AUTH and HELLO, and says so with their arguments. */
let strange: RedisServer;
let sentinels: RedisSentinels;

beforeAll(async () => {
  const renamed = ['--rename-command', 'AUTH', '', '--rename-command', 'HELLO', ''];
  [guarded, strange] = await Promise.all([
    startRedis({ args: ['--requirepass', 'another-Secret-77'] }),
    startRedis({ args: renamed }),
  ]);
  sentinels = await startRedisSentinels();
});
afterAll(() => Promise.all([guarded, strange, sentinels].map((servers) => servers?.stop())));

/** The connections that are refused, as URLs and as JSON. */
function connections(): string[] {
  const login = { username: 'ann', password: PASSWORD };
  const url = ({ host, port }: RedisServer): string => `redis://ann:${ENCODED}@${host}:${port}`;
  const { host, port } = guarded;
  return [
    url(guarded),
    url(strange),
    JSON.stringify({ host, port, ...login }),
    JSON.stringify({ cluster: [{ host, port }], options: { redisOptions: login } }),
    JSON.stringify({ ...sentinels.connection, ...login }),
    JSON.stringify({ ...sentinels.connection, sentinelUsername: 'ann', sentinelPassword: PASSWORD }),
    url(guarded).replace('redis:', 'rediss:'),
    url(guarded).replace(ENCODED, PASSWORD),
  ];
}

const printed = ({ stdout, stderr }: Omit<CliResult, 'code'>): string => `${stdout}\n${stderr}`;

function expectNoPassword(text: string): void {
  for (const form of [PASSWORD, ENCODED, 'with@all']) expect(text).not.toContain(form);
}

describe('the command line program prints no credential', () => {
  it('on a server that refuses it', async () => {
    const commands = connections().map((connection) => ['doctor', '--json', '-t', '1s', '-c', connection]);
    commands.push(['ls', '-c', connections()[1]!], ['watch', '-c', connections()[0]!]);
    // Each of them mostly waits for a second.
    const results: CliResult[] = [];
    const running = overlapping(
      commands.map((args) => async () => void results.push(await program('', args))),
      3,
    );
    for (const i of commands.keys()) await running.run(i);
    for (const result of results) {
      expect([1, 2]).toContain(result.code);
      expect(result.stderr).toMatch(/^nestjs-redis-locks: /);
      expectNoPassword(printed(result));
    }
  });

  it('doctor, with a login that lacks permissions', async () => {
    await using redis = await startRedis();
    await redis.admin.acl('SETUSER', 'ann', 'reset', 'on', `>${PASSWORD}`, '~lock:*', '&*', '+@connection', '+info');
    for (const json of [[], ['--json']]) {
      const result = await program(redis.url.replace('//', `//ann:${ENCODED}@`), ['doctor', ...json, '-t', '1s']);
      expect(result.code).toBe(3);
      expect(result.stdout).toContain('permission');
      expectNoPassword(printed(result));
    }
  });
});

describe("an application prints no credential with Nest's logger", () => {
  const application = fileURLToPath(new URL('./refused-application.mjs', import.meta.url));

  async function run(connection: string): Promise<string> {
    const value = connection.startsWith('{') ? connection : JSON.stringify(connection);
    const child = spawn(process.execPath, [application, value], { timeout: 30_000 });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (text += String(data)));
    await once(child, 'close');
    return text;
  }

  it('whether or not it catches the error', async () => {
    const [url, repeating, , cluster, behindSentinels] = connections();
    const texts = await Promise.all([url, repeating, cluster, behindSentinels].map((each) => run(each!)));
    for (const text of texts) {
      expect(text).toContain('LOCK_STORE');
      // Node itself prints uncaught errors.
      expect(text).toMatch(/Node\.js v/);
      expectNoPassword(text);
    }
  });
});

describe('the command line program behind Sentinels', () => {
  const run = (...args: string[]) => cli(JSON.stringify(sentinels.connection), args);

  it('shows and releases the locks of the master', async () => {
    const service = await createLockClient({ connection: sentinels.connection, shutdownTimeout: 0 });
    await service.acquire('a');
    const ls = await run('ls', '--json');
    expect((JSON.parse(ls.stdout) as LockState[]).map(({ key, holds }) => [key, holds])).toEqual([['a', 1]]);
    expect(await run('inspect', 'a')).toMatchObject({ code: 0, stdout: expect.stringContaining('1 holding') });
    const released = await run('release', 'a', '--force');
    expect(released).toMatchObject({ code: 0, stdout: expect.stringMatching(/^a was released by \S+@\S+, from /) });
    await service.close();
  });

  it('asks the next Sentinel if one is silent, and ends if all are', async () => {
    await using silent = await SilentPort.start();
    const { host, port } = silent;
    const connection = JSON.stringify({
      ...sentinels.connection,
      sentinels: [{ host, port }, ...sentinels.connection.sentinels],
    });
    expect(await run('ls', '-c', connection)).toMatchObject({ code: 0, stderr: '' });
    const alone = JSON.stringify({ ...sentinels.connection, sentinels: [{ host, port }] });
    const { code, stderr } = await program('', ['ls', '-t', '1s', '-c', alone]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/All sentinels are unreachable/)]);
  });

  it('doctor recognizes a Sentinel as the server', async () => {
    const [{ host, port }] = sentinels.connection.sentinels as [{ host: string; port: number }];
    const { code, findings } = readReport(await cli(`redis://${host}:${port}`, ['doctor', '--json', '-t', '1s']));
    expect([code, findings[0]]).toMatchObject([
      3,
      { status: 'problem', check: 'Sentinel', advice: expect.stringContaining('{"sentinels":') },
    ]);
  });

  it('reports that no Sentinel knows the master', async () => {
    const { code, stderr } = await cli(JSON.stringify({ ...sentinels.connection, name: 'other' }), ['ls', '-t', '1s']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^nestjs-redis-locks: other: Redis failed: .*Sentinel/i)]);
  });
});
