import type { WrongUsage } from './usage.js';

/** Code that compiles without types, or with `any`, and fails when it runs: when the class is defined, at start, or in the call. */
export const RUN_TIME: readonly WrongUsage[] = [
  {
    code: 'class Stock { @DistributedLock async reserve() {} }',
    message:
      "@DistributedLock was written without parentheses: write @DistributedLock({ key: … }), or @DistributedLock('stock:#{#order.sku}').",
  },
  {
    code: "class Stock { @DistributedLock({ key: 'stock:#ordr' }) async reserve(order) {} }",
    message:
      'Key template "stock:#ordr" of Stock.reserve, at 7, "#ordr": there is no #ordr here, but #order, #p0, #args, #this, #root; compilers lose parameter names for targets below ES2017, minifiers rename them, and wrappers of other decorators hide them: write #p0 for the first argument, or give a',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'stock:#{#order.' }) async reserve(order) {} }",
    message: `Key template "stock:#{#order." of Stock.reserve, at its end: after '.' the name of a property is expected, or ['…'] for other names.`,
  },
  {
    code: "class Stock { @DistributedLock('a') static async reserve() {} }",
    message:
      '@DistributedLock on Stock.reserve: a static method has no injected LockService; make it an instance method.',
  },
  {
    code: "class Stock { @DistributedLock('a') reserve = async () => {}; }",
    message:
      '@DistributedLock on Stock.reserve: this is a property, whose function does not exist yet: write it as a method.',
  },
  {
    code: "class Stock { @DistributedLock('a') get reserve() { return 1; } }",
    message:
      '@DistributedLock on Stock.reserve: only methods can be locked, not getters and setters: make it an async method.',
  },
  {
    code: "class Stock { @DistributedLock('a') async *reserve() { yield 1; } }",
    message:
      '@DistributedLock on Stock.reserve: a generator runs only while it is iterated: return a promise or an Observable.',
  },
  {
    code: "class Stock { @DistributedLock('a') reserve(): number { return 1; } }",
    message:
      '@DistributedLock on Stock.reserve: the method returns Number at once, before the lock could be acquired: make it async.',
  },
  {
    code: "class Stock { @DistributedLock({ key: '' }) async reserve() {} }",
    message: 'The key template of Stock.reserve is an empty string; it must be a string of 1 to 1024 characters.',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', ttl: 5_000 }) async reserve() {} }",
    message: `@DistributedLock on Stock.reserve has no option "ttl": did you mean 'expire'?`,
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', expire: 30 }) async reserve() {} }",
    message: "@DistributedLock on Stock.reserve: expire is in milliseconds: write '30s'. It must be at least 50 ms.",
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', expire: -1 }) async reserve() {} }",
    message:
      "@DistributedLock on Stock.reserve: expire is -1; write milliseconds, or a text such as '500ms', '30s', '5m'.",
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', expire: '30 seconds' }) async reserve() {} }",
    message: `@DistributedLock on Stock.reserve: expire is "30 seconds"; write milliseconds, or a text such as '500ms', '30s', '5m'.`,
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', expire: '30s', renewedLease: '10s' }) async reserve() {} }",
    message:
      '@DistributedLock on Stock.reserve: expire (30000 ms) and renewedLease (10000 ms) exclude each other: expire above 0 is a fixed lease, which ends even if the holder still works; renewedLease is a lease that is renewed until the lock is',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', holdAtLeast: '5s', expire: '1s' }) async reserve() {} }",
    message:
      '@DistributedLock on Stock.reserve: holdAtLeast (5000 ms) is longer than expire (1000 ms): make expire at least as long, or leave it out.',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onContended: 'wait' }) async reserve() {} }",
    message: `@DistributedLock on Stock.reserve: onContended is "wait"; write 'throw', 'skip' or a function.`,
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', onLost: 'skip' }) async reserve() {} }",
    message: `@DistributedLock on Stock.reserve: onLost is "skip"; write 'throw', 'ignore' or a function.`,
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', kind: 'write', permits: 5 }) async reserve() {} }",
    message: '@DistributedLock on Stock.reserve: kind and permits do not go together: leave one of them out.',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', units: 2 }) async reserve() {} }",
    message:
      '@DistributedLock on Stock.reserve: units (2) needs the total number of permits: write { permits: 5, units: 2 }.',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', permits: 2, units: 3 }) async reserve() {} }",
    message: '@DistributedLock on Stock.reserve: 3 permits of 2 can never be granted: request at most 2.',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', maxRenewTimes: 1.5 }) async reserve() {} }",
    message: '@DistributedLock on Stock.reserve: maxRenewTimes is 1.5; write a whole number, or 0 for no limit.',
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', instance: 5 }) async reserve() {} }",
    message: "@DistributedLock on Stock.reserve: instance is 5; write the name of a RedisLockModule, such as 'jobs'.",
  },
  {
    code: "class Stock { @DistributedLock({ key: 'a', connection: 'jobs' }) async reserve() {} }",
    message: `@DistributedLock on Stock.reserve has no option "connection": did you mean 'instance'?`,
  },
  {
    code: "class Stock { @UseLock({ key: 'order:#id' }) pay(id) {} }",
    message:
      'Key template "order:#id" of Stock.pay, at 7, "#id": there is no #id here, but #params, #query, #body, #headers, #user, #data, #root; an interceptor runs before there are arguments, so write a name of the request.',
  },
  {
    code: "class Stock { @DistributedLock('stock:#{#sku}') async reserve(sku) {} } await new Stock().reserve('lamp');",
    message:
      '@DistributedLock on Stock.reserve: this instance has no LockService, so the method was not run. Nest injects it into instances that it constructs; instances from useFactory and useValue get it when the application starts. An instance made with new,',
  },
  {
    code: "class Stock { @DistributedLock('a') async reserve() {} } const { reserve } = new Stock(); await reserve();",
    message:
      '@DistributedLock on Stock.reserve was called without its instance: bind the method, or call it on the instance.',
  },
  {
    code: "RedisLockModule.forRoot('redis://localhost');",
    message: `RedisLockModule takes an object of options; this is "redis://localhost": write RedisLockModule.forRoot({ connection: 'redis://…' }).`,
  },
  {
    code: "await createLockClient('redis://user:secret@localhost');",
    message: `createLockClient takes an object of options; this is "redis://***@localhost": write createLockClient({ connection: 'redis://…' }).`,
  },
  {
    code: 'RedisLockModule.forRootAsync(async () => ({}));',
    message:
      'RedisLockModule.forRootAsync takes an object of options; this is a function: write RedisLockModule.forRootAsync({ useFactory: () => ({ … }) }).',
  },
  {
    code: "RedisLockModule.forRoot({ url: 'redis://localhost' });",
    message: `RedisLockModule has no option "url": did you mean 'connection'?`,
  },
  {
    code: "RedisLockModule.forRoot({ host: 'localhost', port: 6379 });",
    message: 'RedisLockModule has no option "host" of its own: write connection: { host }.',
  },
  {
    code: "RedisLockModule.forRoot({ connection: 'localhost:6379' });",
    message:
      "connection must be a URL such as 'redis://user:password@host:6379/0', with redis:// or rediss:// (TLS); for a socket write { path: '/tmp/redis.sock' }.",
  },
  {
    code: 'RedisLockModule.forRoot({ connection: undefined });',
    message:
      'connection is undefined: is a variable such as process.env.REDIS_URL not set, or a property missing? Leave the option out for a Redis on this machine.',
  },
  {
    code: "RedisLockModule.forRoot({ connection: ['redis://a', 'redis://b'] });",
    message:
      'connection is an array of 2: Redlock takes 3 or more independent masters, so that a majority is left when one fails; for one server write it without the array.',
  },
  {
    code: "RedisLockModule.forRoot({ waitTimeout: '5s' });",
    message: 'RedisLockModule has no option "waitTimeout" of its own: write defaults: { waitTimeout }.',
  },
  {
    code: "RedisLockModule.forRoot({ keyPrefix: '{lock}' });",
    message: `keyPrefix must be 1 to 64 letters, digits, '_', '-', '.' and ':', such as 'lock' or 'shop:lock'; it is "{lock}".`,
  },
  {
    code: "RedisLockModule.forRoot({ store: 'mongo' });",
    message: `store is "mongo"; write 'redis', 'memory', or a function that makes a store.`,
  },
  {
    code: 'RedisLockModule.forRootAsync({});',
    message: 'RedisLockModule.forRootAsync takes one of useFactory, useClass and useExisting.',
  },
  {
    code: "await createLockClient({ store: 'memory', keyBuilder: (key) => key });",
    message:
      'createLockClient: keyBuilder is for decorated methods and handlers of Nest, which a client does not have: build the key where you name it: locks.run(myKey(id), task).',
  },
  {
    code: "await createLockClient({ store: 'memory', defaults: { onUnavailable: 'skip' } });",
    message:
      'createLockClient: defaults.onUnavailable is for decorated methods and handlers of Nest, which a client does not have: catch the LockStoreError.',
  },
  {
    code: "await locks.acquire('');",
    message: `The lock key "" is empty: write a string, such as 'stock:42'.`,
  },
  {
    code: 'await locks.acquire([]);',
    message: 'There is no key to lock: the list of keys is empty. Name at least one key.',
  },
  {
    code: 'await locks.acquire(42);',
    message: "A lock key must be a string; this one is a number: write a string, such as 'stock:42'.",
  },
  {
    code: "await locks.inspect(' ');",
    message: `The lock key " " is blank: write a string, such as 'stock:42'.`,
  },
  {
    code: "await locks.acquire('a', 5_000);",
    message: "acquire takes an object of options; this is 5000: write acquire(key, { waitTimeout: '5s' }).",
  },
  {
    code: "await locks.run('a', async () => 1, '5s');",
    message: `run takes an object of options; this is "5s": write run(key, task, { waitTimeout: '5s' }).`,
  },
  {
    code: "await locks.acquire('a', { waitTimeout: -5 });",
    message: "waitTimeout is -5; write milliseconds, or a text such as '500ms', '30s', '5m'.",
  },
  {
    code: "await locks.acquire('a', { expire: '30' });",
    message: `expire is "30", without a unit: write the number 30 for milliseconds, or '30ms', or '30s'.`,
  },
  {
    code: "await locks.acquire('a', { owner: '' });",
    message: 'owner is an empty string; write a text of 1 to 128 characters without spaces or control characters.',
  },
  {
    code: "await locks.run('a', { expire: 500 }, async () => 1);",
    message: 'run takes the task before the options: write run(key, task, options).',
  },
  {
    code: "await locks.run('a');",
    message:
      'run takes a function to run while the lock is held; this is undefined: write run(key, async (lock) => { … }).',
  },
  {
    code: "await locks.getLock('b').unlock();",
    message: "this Lock object of 'b' cannot unlock: nothing is held by this scope or through this object",
  },
  {
    code: "await locks.getLock('b').tryLock({ waitTimeout: '3s' }, '10s');",
    message:
      "tryLock takes the lease either after the wait or in its options: write { waitTimeout: '3s', expire: '10s' }.",
  },
  {
    code: "await locks.getReadWriteLock('c').readLock().lock({ owner: 'me' });",
    message:
      'lock has no option "owner": the options are expire, renewedLease, maxRenewTimes, waitTimeout, signal, reentrant, holdAtLeast, replicas, onLost',
  },
  {
    code: "await locks.run('d', () => locks.acquire('d', { kind: 'write' }), { kind: 'read' });",
    message:
      "'d' is held for reading by the same owner, which would wait for itself: acquire the write lock from the start (its owner may read, too), or release the read lock first.",
  },
  {
    code: "locks.getSemaphore('s');",
    message: 'getSemaphore takes an object of options; this is undefined: write getSemaphore(key, { permits: 5 }).',
  },
  {
    code: "locks.getSemaphore('s', 5);",
    message: 'getSemaphore takes an object of options; this is 5: write getSemaphore(key, { permits: 5 }).',
  },
  {
    code: "await locks.getSemaphore('s', { permits: 2 }).acquire(3);",
    message:
      "3 permits of 's' can never be granted, because there are only 2: request at most 2, or raise the number with setPermits.",
  },
  {
    code: "await locks.getSemaphore('s', { permits: 2 }).acquire(0);",
    message: 'units is 0; write a whole number of at least 1.',
  },
  {
    code: "await locks.getSemaphore('s', { permits: 2 }).release();",
    message: 'semaphore.release takes the handle that acquire returned: write release(handle).',
  },
  {
    code: "await locks.getSemaphore('s', { permits: 2 }).addPermits(0);",
    message: 'addPermits takes how many permits to add, a whole number other than 0; this is 0.',
  },
  {
    code: "await locks.getSemaphore('s', { permits: 2 }).drainPermits({ waitTimeout: '1s' });",
    message:
      'drainPermits has no option "waitTimeout": the options are expire, renewedLease, maxRenewTimes, holdAtLeast, replicas, onLost',
  },
  {
    code: "await locks.getSemaphore('s', { permits: 2 }).run({ units: 1 }, () => 1);",
    message: 'semaphore.run takes the task first: write run(async (handle) => { … }, { units: 2 }).',
  },
  {
    code: "const lock = await locks.acquire('e'); await lock.release(); await lock.extend('5s');",
    message: "the lock 'e' is not held any more: it has been released",
  },
  {
    code: "await locks.adopt('some text');",
    message:
      'adopt takes the text that handOver() of a lock has returned, unchanged; this is a string of 9 characters.',
  },
  {
    code: "await locks.forceRelease('a', { hold: 5 });",
    message: 'hold is 5; write the id of a hold: hold: holder.id, with a holder of inspect(key) or list().',
  },
  {
    code: "for await (const lock of locks.list({ prefix: 'a' })) void lock;",
    message: `list has no option "prefix": did you mean 'match'? Write list({ match: 'stock:*' }), in which * stands for any text.`,
  },
  {
    code: "for await (const lock of locks.list('stock:*')) void lock;",
    message: `list takes an object of options; this is "stock:*": write list({ match: 'stock:*' }).`,
  },
  {
    code: "await locks.getCountDownLatch('l').trySetCount(0);",
    message: 'count is 0; write a whole number of at least 1.',
  },
  {
    code: 'lockKey`stock:${undefined}`;',
    message:
      'lockKey: value 1, after "stock:", is undefined; a value in a key must be a non-empty string, a finite number, a bigint or a boolean.',
  },
  {
    code: "parseDuration('soon');",
    message: `parseDuration(text) is "soon"; write milliseconds, or a text such as '500ms', '30s', '5m'.`,
  },
  {
    code: 'new LockExceptionFilter({}, { timeoutStatus: 200 });',
    message: 'timeoutStatus is 200; write the status of an HTTP error, such as 423 or 409.',
  },
  {
    code: 'RedisLockDashboardModule.forRoot({});',
    message:
      "RedisLockDashboardModule shows the holders of all locks and can release them, so it needs guards: write guards: [AdminGuard], or guards: 'none' if access is controlled elsewhere.",
  },
];
