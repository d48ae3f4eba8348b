/*
 * All rights that a Redis user of this library needs, besides the keys and channels of its prefix. docs/deploy.md says the
 * same, and tests run with just this. ioredis sends HELLO and AUTH, which every user may, and CLIENT SETINFO, whose refusal
 * it ignores; INFO may be refused, too, but then it prints a warning for each connection.
 */

/** Said by the clients themselves. */
const BY_CLIENTS = ['evalsha', 'eval', 'subscribe', 'ping', 'info', 'wait'];

const BY_SCRIPTS = [
  ...[
    'del',
    'unlink',
    'exists',
    'get',
    'hdel',
    'hget',
    'hgetall',
    'hlen',
    'hmget',
    'hscan',
    'hset',
    'pexpire',
    'pexpireat',
  ],
  ...['pttl', 'publish'],
  ...['pubsub|numsub', 'set', 'time', 'zadd', 'zcard', 'zrange', 'zrank', 'zrem', 'zremrangebyscore', 'zrevrange'],
  'zscore',
];

export const COMMANDS: readonly string[] = [...BY_CLIENTS, ...BY_SCRIPTS];

/** In a Cluster also these; the last three are ioredis'. */
export const IN_CLUSTER: readonly string[] = [
  ...['ssubscribe', 'sunsubscribe', 'spublish', 'pubsub|shardnumsub'],
  ...['cluster|slots', 'cluster|info', 'cluster|myid', 'asking'],
];
