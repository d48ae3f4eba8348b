import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

describe('RedisServer', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis.stop());

  it('provides clients that work and are closed with it', async () => {
    const other = await startRedis({ args: ['--maxmemory', '100mb'] });
    const client = other.client();
    expect(await client.config('GET', 'maxmemory')).toEqual(['maxmemory', '104857600']);
    await other.stop();
    await eventually(() => client.status === 'end');
    expect(other.isRunning).toBe(false);
  });

  it('counts commands', async () => {
    const client = redis.client();
    await client.ping();
    await redis.resetCommandStats();
    await client.set('a', 1);
    await client.set('a', 2);
    expect(await redis.commandStats()).toMatchObject({ set: 2 });
    expect(await redis.commandStats()).not.toHaveProperty('ping');
  });

  it('answers nothing while it is stalled', async () => {
    const client = redis.client();
    await client.ping();
    await redis.pause();
    let isAnswered = false;
    const answer = client.ping().then(() => (isAnswered = true));
    await expect(eventually(() => isAnswered, { within: 50 })).rejects.toThrow('50 ms');
    await redis.resume();
    await answer;
  });

  it('restarts on the same port with its data', async () => {
    const { port } = redis;
    await redis.admin.set('kept', 'yes');
    await redis.restart();
    expect(redis.port).toBe(port);
    expect(await redis.admin.get('kept')).toBe('yes');
  });

  it('restarts empty', async () => {
    await redis.admin.set('kept', 'yes');
    await redis.restart();
    await redis.restart({ empty: true });
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('comes back after a crash', async () => {
    const client = redis.client();
    await client.ping();
    await redis.kill();
    await eventually(() => client.status === 'reconnecting');
    await redis.start();
    expect(await client.ping()).toBe('PONG');
  });
});
