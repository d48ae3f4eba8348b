import { randomBytes } from 'node:crypto';
import { ensureRedis } from '../setup.mjs';
import { StepFailed } from './run.mjs';

/**
 * The Redis that the demo runs on: that of `REDIS_URL`, or one of our own. `end()` leaves nothing behind: our own server
 * is stopped, and in the other one all keys of the demo, which begin with `keyPrefix`, are deleted.
 */
export async function openRedis() {
  const keyPrefix = `shop-demo-${randomBytes(4).toString('hex')}`;
  const given = process.env.REDIS_URL;
  return given ? { ...(await openGiven(given, keyPrefix)), keyPrefix } : { ...(await startOwn()), keyPrefix };
}

async function startOwn() {
  const launcher = await ensureRedis();
  const server = await launcher.start();
  const what = `Redis ${launcher.installation.version} on ${server.host}:${server.port}, started for this demo`;
  return { url: server.url, what, end: () => server.stop() };
}

async function openGiven(url, keyPrefix) {
  const info = await withClient(url, (redis) => redis.info('server'));
  const version = /(?:redis|valkey)_version:(\S+)/.exec(info)?.[1];
  const what = `Redis ${version} of REDIS_URL (${new URL(url).host}), keys ${keyPrefix}:*`;
  return { url, what, end: () => withClient(url, (redis) => deleteKeys(redis, `${keyPrefix}:*`)) };
}

async function withClient(url, work) {
  const { Redis } = await import('ioredis');
  let reason;
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: 5_000, retryStrategy: null });
  redis.on('error', (error) => (reason = error.message));
  try {
    await redis.connect();
    return await work(redis);
  } catch (error) {
    throw new StepFailed(`The Redis of REDIS_URL cannot be used: ${reason ?? error.message}`);
  } finally {
    redis.disconnect();
  }
}

async function deleteKeys(redis, pattern) {
  for await (const keys of redis.scanStream({ match: pattern, count: 1000 })) {
    if (keys.length > 0) await redis.del(...keys);
  }
}
