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
