// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare class RedisLockDashboardModule {
    static forRoot(options: RedisLockDashboardOptions): DynamicModule;
    static forRootAsync(options: RedisLockDashboardAsyncOptions): DynamicModule;
}

export interface RedisLockDashboardAsyncOptions extends RedisLockDashboardPlace {
    inject?: Array<InjectionToken | {
        token: InjectionToken;
        optional: boolean;
    }> | undefined;
    useFactory: (...args: any[]) => RedisLockDashboardSettings | Promise<RedisLockDashboardSettings>;
}

export interface RedisLockDashboardOptions extends RedisLockDashboardPlace, RedisLockDashboardSettings {
}

export interface RedisLockDashboardSettings {
    readOnly?: boolean | undefined;
    instance?: string | readonly string[] | undefined;
    refresh?: Duration | undefined;
    limit?: number | undefined;
}
