export { redisson, type RedissonOptions } from './redisson-protocol.js';
export type { RedissonNameMapper } from './redisson-names.js';
export type { ShardedSubscriptionMode } from './redisson-scripts.js';
