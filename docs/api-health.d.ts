// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare class LockHealthIndicator {
    constructor(parts: 'Nest passes them');
    check<const Key extends string = 'locks'>(key?: Key, options?: LockHealthCheckOptions): Promise<Record<Key, LockHealthReport>>;
}

export interface LockHealthCheckOptions {
    instance?: string | undefined;
    timeout?: Duration | undefined;
    maxWatchdogLag?: Duration | undefined;
}

export interface LockHealthReport {
    readonly status: 'up' | 'down';
    readonly label: string;
    readonly connection: 'up' | 'down';
    readonly subscription: 'up' | 'down';
    readonly watchdog: 'up' | 'down';
    readonly watchdogLag: number;
    readonly roundTrip?: number;
    readonly held: number;
    readonly message?: string;
}
