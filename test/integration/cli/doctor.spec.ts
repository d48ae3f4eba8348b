import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { cli } from './cli.js';
import { startRedis, type RedisServer } from '../../../testbed/servers/redis-server.mjs';
import { readReport } from './support.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  await redis.admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
  await redis.admin.acl('DELUSER', 'locks');
});
afterAll(() => redis.stop());

const examined = async (url = redis.url, ...args: string[]) =>
  readReport(await cli(url, ['doctor', '--json', ...args]));

/** The rules that docs/design.md gives a user of its own, one by one. */
const RULES = /^ACL SETUSER locks ([^]*?)^```/m
  .exec(readFileSync(new URL('../../../docs/design.md', import.meta.url), 'utf8'))![1]!
  .trim()
  .split(/\s+/);

/** A user with the documented rules, but for some. */
async function userWithout(...missing: string[]): Promise<string> {
  await redis.admin.acl('SETUSER', 'locks', 'reset', ...RULES.filter((rule) => !missing.includes(rule)));
  return redis.url.replace('//', '//locks:password@');
}

describe('doctor', () => {
  it('finds no problem on a healthy server, and leaves only a token that expires', async () => {
    const { code, ok, amiss, findings } = await examined();
    expect({ code, ok, amiss }).toEqual({ code: 0, ok: true, amiss: [] });
    expect(findings.map(({ check }) => check)).toEqual([
      ...[
        'server version',
        'role',
        'eviction policy',
        'memory',
        'saving',
        'permissions',
        'pub/sub',
        'round trip',
        'clock',
      ],
      'a lock',
    ]);
    const left = await redis.admin.keys('*');
    expect(left).toEqual([expect.stringMatching(/^lock:fence:/)]);
    expect(await redis.admin.pttl(left[0]!)).toBeGreaterThan(0);
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

  it('finds no problem with the documented permissions, except the one that ls needs', async () => {
    const { code, amiss } = await examined(await userWithout());
    expect(code).toBe(0);
    expect(amiss).toEqual([
      expect.objectContaining({ status: 'warning', check: 'permissions', advice: expect.stringContaining('+scan') }),
    ]);
    await redis.admin.acl('SETUSER', 'locks', '+scan');
    expect((await examined(redis.url.replace('//', '//locks:password@'))).amiss).toEqual([]);
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
    await third.admin.config('SET', 'appendonly', 'yes');
    const masters = await examined(redis.url, ...[redis, second, third].flatMap(({ url }) => ['-c', url]));
    const forgetful = masters.amiss.map(({ check, status }) => [check, status]);
    expect(forgetful).toEqual([redis, second].map(({ port }) => [`127.0.0.1:${port} persistence`, 'warning']));
    await third.admin.replicaof(redis.host, redis.port);
    const { code, about } = await examined(third.url);
    expect(code).toBe(3);
    expect(about('role')).toMatchObject([{ status: 'problem', found: expect.stringContaining(`:${redis.port}`) }]);
  });
});
