export { redisson, type RedissonOptions } from './redisson-protocol.js';
