import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { RedisOptions } from 'ioredis';
import type { LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import { FaultLocks } from '../../../testbed/locks/fault-locks.js';
import { startRedis, type RedisServer } from '../../../testbed/servers/redis-server.mjs';

let redis: RedisServer;
const locks = new FaultLocks();
beforeAll(async () => {
  redis = await startRedis();
});
afterEach(() => locks.closeAll());
afterAll(() => redis.stop());

/** Only Linux says what its sockets wait for. */
const isLinux = process.platform === 'linux';
const onLinux = isLinux ? it : it.skip;
const WHERE = isLinux ? '' : ' (NOT TESTED HERE: only Linux tells the timers of sockets)';

/** /proc/net/tcp: state 01 is established, timer 02 is keepalive, and its time is in hundredths of a second. */
const SOCKET = /^\s*\d+: \S+:\S+ \S+:([0-9A-F]{4}) 01 \S+ ([0-9A-F]{2}):([0-9A-F]{8})/gm;

/** In how many seconds TCP asks whether the server is still there, for each connection to it; the longest first. */
function probes({ port }: RedisServer): Array<number | undefined> {
  const sockets = [...readFileSync('/proc/net/tcp', 'utf8').matchAll(SOCKET)];
  return sockets
    .filter(([, to]) => parseInt(to!, 16) === port)
    .map(([, , timer, time]) => (timer === '02' ? parseInt(time!, 16) / 100 : undefined))
    .sort((a, b) => (b ?? Infinity) - (a ?? Infinity));
}

const url = (): LockConnectionOption => redis.url;
const withOptions = (options: RedisOptions) => (): LockConnectionOption => ({
  host: redis.host,
  port: redis.port,
  ...options,
});

onLinux.each<[string, () => LockConnectionOption, atLeast: number, atMost: number]>([
  ['after ten idle seconds', url, 0, 10],
  ['when the user wants it', withOptions({ keepAlive: 50_000 }), 30, 50],
])(`both connections ask for signs of life %s${WHERE}`, async (_when, connection, atLeast, atMost) => {
  await locks.start(connection());
  const found = probes(redis);
  expect(found).toHaveLength(2);
  for (const seconds of found) {
    expect(seconds).toBeGreaterThan(atLeast);
    expect(seconds).toBeLessThanOrEqual(atMost);
  }
});

onLinux(`what listens beside a client of the user's asks for signs of life as that does${WHERE}`, async () => {
  const client = redis.client({ keepAlive: 50_000 });
  await locks.start(client);
  expect(probes(redis).filter((seconds) => seconds! > 30)).toHaveLength(2);
});
