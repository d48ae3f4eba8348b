import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { IoredisLines } from '../../lib/store/redis/ioredis-lines.js';
import { RedisConnection } from '../../lib/store/redis/redis-connection.js';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';

let redis: RedisServer;

beforeEach(async () => {
  redis = await startRedis();
});
afterEach(() => redis.stop());

function connectionTo(connection: string): RedisConnection {
  const logger = { debug() {}, log() {}, warn() {}, error() {} };
  const observer = { subscribed() {}, reconnected() {}, message() {} };
  const lines = new IoredisLines(connection, { commandTimeout: 1_000 });
  const options = { lines, keyPrefix: 'lock', clientId: 'me', commandTimeout: 1_000 };
  return new RedisConnection(options, logger, observer);
}

it('a connection that is closed twice is closed once', async () => {
  const connection = connectionTo(redis.url);
  connection.open(() => undefined);
  await eventually(() => connection.listening);
  const line = jest.spyOn(connection.commands.line!, 'close');
  connection.close();
  connection.close();
  connection.close();
  expect(line).toHaveBeenCalledTimes(1);
});

it('a line that is closed many times in one turn adds one listener to its socket', async () => {
  const line = new IoredisLines(redis.url, { commandTimeout: 1_000 }).open({});
  await line.opened;
  const { stream } = (line as unknown as { client: { stream: Socket } }).client;
  const before = stream.listenerCount('close');
  for (let i = 0; i < 20; i++) line.close(true);
  expect(stream.listenerCount('close')).toBe(before + 1);
  expect(stream.destroyed).toBe(true);
});
