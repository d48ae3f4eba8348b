import { describe, expect, it } from '@jest/globals';
import { RedisLockModule } from '../../../lib/module/redis-lock.module.js';
import { startRedis } from '../../../lab/testbed/servers/redis-server.mjs';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);

describe('masters that cannot form a quorum', () => {
  const refused: Array<[string, unknown, RegExp]> = [
    ['two', ['redis://a', 'redis://b'], /an array of 2: Redlock takes 3 or more/],
    ['none', [], /an array of 0/],
    ['one twice', ['redis://a', 'redis://b', 'redis://a'], /connection\[2\] is the same as connection\[0\]/],
    ['one without a scheme', ['redis://a', 'b:6379', 'redis://c'], /connection\[1\] must be a URL/],
    ['an array', ['redis://a', ['redis://b'], 'redis://c'], /connection\[1\] is an array within an array/],
  ];
  for (const [what, connection, message] of refused) {
    it(`are refused before anything is connected: ${what}`, () => {
      expect(() => RedisLockModule.forRoot({ connection: connection as string[] })).toThrow(message);
    });
  }

  it('are refused with replicas', () => {
    const connection = ['redis://a', 'redis://b', 'redis://c'];
    expect(() => RedisLockModule.forRoot({ connection, defaults: { replicas: { min: 1 } } })).toThrow(/replicas/);
  });

  it('are refused if two are the same server, and no lock is granted', async () => {
    const service = bench.make({
      connection: [...bench.urls.slice(0, 2), bench.urls[0]!.replace('127.0.0.1', 'localhost')],
    });
    await expect(service.start()).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining('masters 1 and 3 of connection are the same server'),
    });
    await expect(service.acquire('a')).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
  });

  it('are refused if one is a node of a Cluster, also without start()', async () => {
    await using node = await startRedis({ args: ['--cluster-enabled', 'yes'] });
    const service = bench.make({ connection: [...bench.urls.slice(0, 2), node.url] });
    await expect(service.start()).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining(
        `master 3 of connection (${node.host}:${node.port}) is a node of a Redis Cluster`,
      ),
    });
  });

  it('cause a warning for an even number', async () => {
    await using fourth = await startRedis();
    await bench.service({ connection: [...bench.urls, fourth.url] });
    expect(bench.lines).toContain(
      'warn: connection names 4 masters, an even number: they tolerate no more failures than 3 masters do.',
    );
  });

  it('cause one warning if INFO is not permitted', async () => {
    for (const { admin } of bench.masters) {
      await admin.call('ACL', 'SETUSER', 'locks', 'on', '>secret', '~*', '&*', '+@all', '-info');
    }
    const user = { username: 'locks', password: 'secret', enableReadyCheck: false };
    const connection = bench.masters.map(({ host, port }) => ({ host, port, ...user }));
    const service = await bench.service({ connection });
    const lock = await service.acquire('a');
    expect(await lock.release()).toBe(true);
    expect(bench.lines.filter((line) => line.includes('INFO'))).toHaveLength(1);
  });

  it('refuse replicas in each call', async () => {
    const service = await bench.service();
    await expect(service.acquire('a', { replicas: { min: 1 } })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    await bench.untilNothingIsLeft();
  });
});
