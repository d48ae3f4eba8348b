// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare function redisson(options?: RedissonOptions): LockProtocol;

export interface RedissonOptions {
    nameMapper?: RedissonNameMapper | undefined;
    fenced?: boolean | undefined;
    shardedSubscriptionMode?: ShardedSubscriptionMode | undefined;
}
