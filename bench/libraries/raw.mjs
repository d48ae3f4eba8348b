// The floor: the two scripts of the reentrant hash lock (owner → count), each sent as one EVALSHA by ioredis, and
// nothing around them. It does not wait, does not renew, and does not know whether it still holds the lock that it
// took.
import { randomUUID } from 'node:crypto';

const LEASE = 30_000;

const ACQUIRE = `
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return nil
end
return redis.call('PTTL', KEYS[1])`;

const RELEASE = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
redis.call('DEL', KEYS[1])
return 1`;

export default {
  title: 'raw',
  waits: false,
  variants: {
    defaults: { about: 'the two bare scripts over ioredis; cannot wait' },
    once: { hidden: true },
  },

  async open({ connection }) {
    const redis = connection.redis();
    redis.defineCommand('rawAcquire', { numberOfKeys: 1, lua: ACQUIRE });
    redis.defineCommand('rawRelease', { numberOfKeys: 1, lua: RELEASE });
    const client = randomUUID();
    let count = 0;
    return {
      async acquire(key, owner = `${client}:${++count}`) {
        return (await redis.rawAcquire(key, owner, LEASE)) === null ? { key, owner } : undefined;
      },
      async release({ key, owner }) {
        if ((await redis.rawRelease(key, owner, LEASE)) === null) throw new Error(`${key} was not held`);
      },
      async close() {
        redis.disconnect();
      },
    };
  },
};
