import type { RedisInstallation } from '../../testbed/servers/redis-process.mjs';

export declare const REDIS_VARIABLE: string;
export declare function findRedis(): Promise<RedisInstallation | undefined>;
export declare function ensureRedis(): Promise<RedisInstallation>;
