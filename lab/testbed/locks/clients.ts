import type { RedisOptions } from 'ioredis';
import { createSentinel } from 'redis';
import type { LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import { withNodeRedis } from './node-redis-clients.mjs';

/** The client with which tests connect, as `npm run test:clients` sets it. */
const isNodeRedis = process.env['LOCKS_TEST_CLIENT'] === 'node-redis';

/** Makes a connection with the client that is being tested: addresses become clients of node-redis. */
export const withTestedClient = (connection: LockConnectionOption | undefined): LockConnectionOption | undefined =>
  isNodeRedis ? (withNodeRedis(connection) as LockConnectionOption | undefined) : connection;

/** A client that a test has to end. */
export interface TestedSentinel {
  destroy(): Promise<void>;
}

/** For addresses of Sentinels, a client that connects to them, if node-redis is being tested. */
export function testedSentinel(connection: LockConnectionOption | undefined): TestedSentinel | undefined {
  const { name, sentinels = [], natMap } = (connection ?? {}) as RedisOptions;
  if (!isNodeRedis || !name || sentinels.length === 0 || 'connector' in (connection as object)) return undefined;
  const sentinelRootNodes = sentinels.map(({ host = '127.0.0.1', port = 26_379 }) => ({ host, port }));
  const client = createSentinel({
    name,
    sentinelRootNodes,
    ...(typeof natMap === 'object' && { nodeAddressMap: natMap }),
  });
  client.on('error', () => undefined);
  client.connect().catch(() => undefined);
  return client;
}
