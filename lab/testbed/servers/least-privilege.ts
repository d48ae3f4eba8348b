import type { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.mjs';

/*
 * All rights that a Redis user of this library needs, besides the keys and channels of its prefix. docs/deploy.md says the
 * same, and tests run with just this. ioredis sends HELLO and AUTH, which every user may, and CLIENT SETINFO, whose refusal
 * it ignores; INFO may be refused, too, but then it prints a warning for each connection.
 */

/** Said by the clients themselves. */
const BY_CLIENTS = ['evalsha', 'eval', 'subscribe', 'ping', 'info', 'wait'];

const BY_SCRIPTS = [
  ...['del', 'unlink', 'exists', 'get', 'hdel', 'hget', 'hgetall', 'hlen', 'hmget', 'hscan', 'hset', 'pexpire'],
  ...['pexpireat', 'pttl', 'publish', 'pubsub|numsub', 'set', 'time', 'zadd', 'zcard', 'zrange', 'zrank', 'zrem'],
  ...['zremrangebyscore', 'zrevrange', 'zscore'],
];

export const COMMANDS: readonly string[] = [...BY_CLIENTS, ...BY_SCRIPTS];

/** In a Cluster also these; the last three are ioredis'. */
export const IN_CLUSTER: readonly string[] = [
  ...['ssubscribe', 'sunsubscribe', 'spublish', 'pubsub|shardnumsub'],
  ...['cluster|slots', 'cluster|info', 'cluster|myid', 'asking'],
];

/** What the tests ask, how clients log in and name themselves, where they are allowed to, and how scripts come to a server. */
const BESIDES = [
  ...['acl|setuser', 'acl|log', 'config|resetstat', 'script|flush', 'script|load'],
  ...['hello', 'auth', 'client', 'client|setinfo', 'client|setname'],
];

/** The commands that a server has executed since its statistics were reset, in alphabetical order. */
export const commandsUsed = async (redis: RedisServer): Promise<string[]> =>
  Object.keys(await redis.commandStats())
    .filter((name) => !BESIDES.includes(name))
    .sort();

/** What a server has refused, except names for connections, which ioredis does without. */
export async function refusals(admin: Redis): Promise<string[]> {
  const entries = (await admin.acl('LOG')) as unknown[][];
  const field = (entry: unknown[], name: string): string => String(entry[entry.indexOf(name) + 1]);
  return entries
    .filter((entry) => !field(entry, 'object').startsWith('client|'))
    .map((entry) => ['reason', 'context', 'object', 'client-info'].map((name) => field(entry, name)).join(' '));
}
