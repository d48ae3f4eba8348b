import type { LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import { withNodeRedis } from './node-redis-clients.mjs';

/** The client with which tests connect, as `npm run test:clients` sets it. */
const isNodeRedis = process.env['LOCKS_TEST_CLIENT'] === 'node-redis';

/** Makes a connection with the client that is being tested: addresses become clients of node-redis. */
export const withTestedClient = (connection: LockConnectionOption | undefined): LockConnectionOption | undefined =>
  isNodeRedis ? (withNodeRedis(connection) as LockConnectionOption | undefined) : connection;
