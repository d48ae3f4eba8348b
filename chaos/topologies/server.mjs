import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { RedisProcess } from '../../scripts/lib/redis-process.mjs';

/** Whatever was acknowledged outlives the process. */
const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'always'];
/** Where that is: from Redis 7 on, and before. */
const DATA = ['appendonlydir', 'appendonly.aof', 'dump.rdb'];

const REVIVED = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local revived = {}
for _, tombstones in ipairs(redis.call('KEYS', 'lock:tombstones:*')) do
  local state = 'lock:state:' .. string.sub(tombstones, #'lock:tombstones:' + 1)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', tombstones, string.format('(%.0f', now), '+inf')) do
    local hold = redis.call('HGET', state, id)
    if hold and tonumber(string.match(hold, '^%S+ (%d+)')) > now then revived[#revived + 1] = state .. ' ' .. id end
  end
end
return revived`;

/** A Redis with persistence whose life is in the hands of the run. */
export class Server {
  #process;
  #admin;

  /** `args` and `config` as for `RedisProcess`. */
  static async start(installation, { args = [], config } = {}) {
    const server = new Server();
    server.#process = new RedisProcess(installation, { args: [...PERSISTENT, ...args], config });
    await server.#process.start();
    const { host, port } = server.#process;
    // ioredis forgets to clear this timer when a client is closed between two attempts to connect.
    server.#admin = new Redis({ host, port, disconnectTimeout: 100, maxRetriesPerRequest: null });
    server.#admin.on('error', () => undefined);
    return server;
  }

  get isRunning() {
    return this.#process.isRunning;
  }

  get host() {
    return this.#process.host;
  }

  get port() {
    return this.#process.port;
  }

  get url() {
    return this.#process.url;
  }

  /** A connection past all proxies. What it is asked while the server is away is answered when that is back. */
  get admin() {
    return this.#admin;
  }

  /** Connections stay open, and nothing is answered. */
  pause() {
    return this.#process.signal('SIGSTOP');
  }

  resume() {
    return this.#process.signal('SIGCONT');
  }

  /** Ends as in a crash. */
  kill() {
    return this.#process.kill();
  }

  /** Starts again on the same port, with what it had acknowledged, or empty. */
  async startAgain({ empty = false } = {}) {
    if (empty) for (const name of DATA) rmSync(join(this.#process.directory, name), { recursive: true, force: true });
    await this.#process.start();
  }

  /** Every key, with its TTL in ms (-1: none). */
  async keysWithTtl() {
    const names = new Set();
    for await (const batch of this.#admin.scanStream({ count: 1_000 })) for (const name of batch) names.add(name);
    const keys = await Promise.all([...names].map(async (key) => ({ key, ttl: await this.#admin.pttl(key) })));
    // -2: it has ended between the two commands.
    return keys.filter(({ ttl }) => ttl !== -2);
  }

  /** Holds that are there though it is remembered that they have left, or were ended by force. The clock is `skew` ms ahead. */
  async revived(skew = 0) {
    return this.#admin.eval(REVIVED, 0, skew);
  }

  async stop() {
    this.#admin.disconnect();
    await this.#process.stop();
  }
}
