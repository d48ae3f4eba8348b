import type { WrongUsage } from './usage.js';

/** Code that the compiler refuses, with what it says. */
export const COMPILE_TIME: readonly WrongUsage[] = [
  {
    code: "class Stock { @DistributedLock('a') reserve(): number { return 1; } }",
    message: 'a locked method must return a promise or an Observable: make it async',
  },
  {
    code: "class Stock { @DistributedLock('a') reserve(): void {} }",
    message: 'a locked method must return a promise or an Observable: make it async',
  },
  {
    code: "class Stock { @DistributedLock('a') reserve(): number | Promise<number> { return 1; } }",
    message: 'a locked method must return a promise or an Observable: make it async',
  },
  {
    code: "class Stock { @DistributedLock('a') get reserve(): number { return 1; } }",
    message: 'a locked method must return a promise or an Observable: make it async',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', ttl: 5 }) async reserve() {} }",
    message: "'ttl' does not exist in type 'DistributedLockOptions",
  },
  {
    code: 'class Stock { @DistributedLock({ expire: 0 }) async reserve() {} }',
    message: "Property 'key' is missing in type '{ expire: number; }'",
  },
  {
    code: 'class Stock { @DistributedLock({ key: () => 5 }) async reserve() {} }',
    message: "Type '() => number' is not assignable to type 'LockKey<[]>'",
  },
  {
    code: 'class Stock { @DistributedLock({ key: (sku: string) => sku }) async reserve(sku: number) { return sku; } }',
    message: 'the functions among the options take other arguments than the method',
  },
  {
    code: 'class Stock { @DistributedLock({ key: (sku: string) => sku }) async reserve(sku?: string) { return sku; } }',
    message: 'the functions among the options take other arguments than the method',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', condition: (a: string, b: number) => b > a.length }) async reserve(a: string) { return a; } }",
    message: 'the functions among the options take other arguments than the method',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onContended: 'skip' }) async reserve(): Promise<number> { return 1; } }",
    message: "onContended: 'skip' lets the method return undefined: add it to the return type",
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onUnavailable: 'skip' }) async reserve(): Promise<number> { return 1; } }",
    message: "onUnavailable: 'skip' lets the method return undefined: add it to the return type",
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onContended: () => 'none' }) async reserve(): Promise<number> { return 1; } }",
    message: 'the function of onContended returns another type than the method',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onUnavailable: async () => 'none' }) async reserve(): Promise<number> { return 1; } }",
    message: 'the function of onUnavailable returns another type than the method',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onContended: () => null as never as Observable<number> }) watch(): Observable<string> { return null as never; } }",
    message: 'the function of onContended returns another type than the method',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onContended: (_error: LockTimeoutError, sku: string) => sku.length }) async reserve(sku: number) { return sku; } }",
    message: 'the function of onContended takes other arguments than the method',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onUnavailable: 'ignore' }) async reserve() {} }",
    message: `Type '"ignore"' is not assignable to type 'OnUnavailable | undefined'`,
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onContended: (error) => error.transient }) async reserve() { return true; } }",
    message: "Property 'transient' does not exist on type 'LockTimeoutError'",
  },
  {
    code: "class Stock { @DistributedLock('a', '30 seconds') async reserve() {} }",
    message: `Argument of type '"30 seconds"' is not assignable to parameter of type 'Duration | undefined'.`,
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', expire: '1w' }) async reserve() {} }",
    message: `Type '"1w"' is not assignable to type 'Duration | undefined'`,
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', connection: 'jobs' }) async reserve() {} }",
    message: "'connection' does not exist in type 'DistributedLockOptions",
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', kind: 'shared' }) async reserve() {} }",
    message: `Type '"shared"' is not assignable to type 'LockKind | undefined'`,
  },
  {
    code: "class Stock { @UseLock({ key: 'a', returns: 'promise' }) pay() {} }",
    message: "'returns' does not exist in type 'LockMethodOptions",
  },
  {
    code: 'class Stock { @UseLock({ key: (id: number) => String(id) }) pay() {} }',
    message: "Type '(id: number) => string' is not assignable to type 'LockKey<UseLockArgs>'",
  },
  {
    code: "locks.acquire('a', { expire: process.env.EXPIRE });",
    message: "Type 'string | undefined' is not assignable to type 'Duration | undefined'",
  },
  {
    code: 'locks.acquire(5);',
    message: "Argument of type 'number' is not assignable to parameter of type 'string | readonly string[]'.",
  },
  {
    code: "locks.acquire('a', { onContended: 'skip' });",
    message: "'onContended' does not exist in type 'AcquireOptions",
  },
  {
    code: "locks.acquire('a', { onLost: 'ignore' });",
    message: "Type 'string' is not assignable to type 'LockLostListener'",
  },
  {
    code: "locks.run('a', { expire: 500 }, async () => 1);",
    message:
      "Object literal may only specify known properties, and 'expire' does not exist in type '(lock: LockHandle) => unknown'.",
  },
  {
    code: "locks.getLock('a').tryLock(3, 10, 'SECONDS');",
    message: 'Expected 0-2 arguments, but got 3.',
  },
  {
    code: "locks.getSemaphore('a');",
    message: 'Expected 2 arguments, but got 1.',
  },
  {
    code: "locks.getSemaphore('a', { permits: 5 }).release();",
    message: 'Expected 1-2 arguments, but got 0.',
  },
  {
    code: "locks.getSemaphore('a', { permits: 5 }).drainPermits({ waitTimeout: '1s' });",
    message: "'waitTimeout' does not exist in type 'SemaphoreDrainOptions",
  },
  {
    code: "locks.getMultiLock('a', 'b');",
    message: "Argument of type 'string' is not assignable to parameter of type 'readonly string[]'.",
  },
  {
    code: "locks.getReadWriteLock('a').lock();",
    message: "Property 'lock' does not exist on type 'ReadWriteLock'",
  },
  {
    code: "locks.getCountDownLatch('a').await({ expire: '1s' });",
    message: "'expire' does not exist in type 'LatchWaitOptions",
  },
  {
    code: "RedisLockModule.forRoot('redis://localhost');",
    message: "has no properties in common with type 'RedisLockRootOptions'",
  },
  {
    code: "RedisLockModule.forRoot({ host: 'localhost' });",
    message: "'host' does not exist in type 'RedisLockRootOptions",
  },
  {
    code: "RedisLockModule.forRoot({ store: 'mongo' });",
    message: `Type '"mongo"' is not assignable to type 'LockStoreChoice | undefined'`,
  },
  {
    code: "RedisLockModule.forRoot({ protocol: { name: 'redisson' } });",
    message: "Property 'createStore' is missing in type '{ name: string; }'",
  },
  {
    code: 'class Stock { @DistributedLock(new Date()) async reserve() {} }',
    message: 'No overload matches this call.',
  },
  {
    code: "class Stock { @UseLock({ kye: 'a' }) pay() {} }",
    message: "'kye' does not exist in type 'LockMethodOptions",
  },
  {
    code: "RedisLockModule.forRootAsync({ useFactory: () => ({ conection: 'redis://a' }) });",
    message:
      "Type '() => { conection: string; }' is not assignable to type '(...args: any[]) => RedisLockModuleOptions | Promise<RedisLockModuleOptions>'.",
  },
  {
    code: 'createLockClient({ keyBuilder: (key) => key });',
    message: "'keyBuilder' does not exist in type 'LockClientOptions",
  },
  {
    code: "createLockClient({ defaults: { onContended: 'skip' } });",
    message: "'onContended' does not exist in type 'Omit",
  },
  {
    code: `lockKey\`stock:\${{ sku: 'a' }}\`;`,
    message: "Argument of type '{ sku: string; }' is not assignable to parameter of type 'KeyPart'.",
  },
];
