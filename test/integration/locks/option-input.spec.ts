import { DistributedLock, LockExceptionFilter, LockService, RedisLockModule } from 'nestjs-redis-locks';
import { RedisLockDashboardModule } from 'nestjs-redis-locks/dashboard';
import {
  openTelemetryMetrics,
  openTelemetrySpans,
  prometheusMetrics,
  structuredLogs,
} from '../../../lib/observation/metrics/index.js';
import { LockTesting, RedisLockTestingModule } from 'nestjs-redis-locks/testing';
import { OPTIONS } from '../../../lib/options/option-table.js';
import { Section } from '../../../lab/testbed/locks/section.js';
import { LockBench, lockError } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
let service: LockService;
beforeEach(async () => {
  service = await bench.service();
});

/** The names of all options of locks, and those of `replicas`. */
const NAMES = [...new Set(Object.values(OPTIONS).flatMap(({ names }) => names)), 'min', 'timeout'];

/** The error of something that throws or rejects. */
async function refusal(work: () => unknown): Promise<any> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  return undefined;
}

const define = (options: any) => () => {
  class Stock {
    @DistributedLock(options)
    async reserve(): Promise<void> {}
  }
  return Stock;
};

const root = (options: any) => () => RedisLockModule.forRoot(options);
const holed = <T>(...items: T[]): T[] => {
  const list = [...items];
  Reflect.deleteProperty(list, 1);
  return list;
};

describe('a list with a hole', () => {
  it('of keys is refused in every call', async () => {
    const keys = holed('a', 'x', 'b');
    for (const work of [
      () => service.acquire(keys),
      () => service.tryAcquire(keys),
      () => service.run(keys, () => undefined),
      () => service.getMultiLock(keys),
    ]) {
      expect(await refusal(work)).toEqual(lockError('LOCK_KEY', 'this one is undefined'));
    }
    const byFunction = define({ key: () => keys });
    expect(byFunction).not.toThrow();
    expect(await refusal(define({ key: keys }))).toEqual(lockError('LOCK_CONFIG', /key\[1\]/));
  });

  it.each([
    ['masters', root({ connection: holed('redis://a', 'x', 'redis://b', 'redis://c') }), 'connection[1]'],
    ['nodes', root({ connection: { cluster: holed('redis://a', 'x', 'redis://b') } }), 'connection.cluster[1]'],
    [
      'instances of the dashboard',
      () => RedisLockDashboardModule.forRoot({ guards: 'none', instance: holed('a', 'b', 'c') }),
      'instance[1]',
    ],
    [
      'guards',
      () =>
        RedisLockDashboardModule.forRoot({ guards: holed(class A {} as any, class B {} as any, class C {} as any) }),
      'guards[1]',
    ],
    [
      'types of log lines',
      () => structuredLogs({} as any, { types: holed('lost', 'acquired', 'released') }),
      'types[1]',
    ],
    ['buckets', () => prometheusMetrics({ register: {} } as any, { buckets: holed(1, 2, 3) }), 'buckets[1]'],
  ])('of %s is refused', async (_what, make, place) => {
    expect(await refusal(make)).toEqual(lockError('LOCK_CONFIG', place));
  });
});

describe('options that are not own data properties', () => {
  afterEach(() => {
    for (const name of ['owner', 'kind', 'waitTimeout', 'permits', 'reentrant'])
      Reflect.deleteProperty(Object.prototype, name);
  });

  /** Every call that takes options, with the name of one of them. */
  const calls = (service: any, readers: any = {}): Array<[string, (options: any) => unknown]> => [
    ['expire', (options) => service.acquire('a', options)],
    ['owner', (options) => service.acquire(['a', 'b'], options)],
    ['expire', (options) => service.tryAcquire('a', options)],
    ['onLost', (options) => service.run('a', () => undefined, options)],
    ['owner', (options) => service.getLock('a', options)],
    ['pattern', (options) => service.getMultiLock(['a'], options)],
    ['expire', (options) => service.getLock('a').lock(options)],
    ['permits', (options) => service.getSemaphore('a', options)],
    ['expire', (options) => service.getSemaphore('a', { permits: 1 }).acquire(1, options)],
    ['units', (options) => service.getSemaphore('a', { permits: 1 }).run(() => undefined, options)],
    ['expire', (options) => service.getCountDownLatch('a').trySetCount(1, options)],
    ['waitTimeout', (options) => service.getCountDownLatch('a').await(options)],
    ['pattern', (options) => service.getLeaderElection('a', options)],
    ['timeout', (options) => service.health(options)],
    ['timeout', (options) => service.acquire('a', { replicas: options })],
    ['commandTimeout', (options) => RedisLockModule.forRoot(options)],
    ['isGlobal', (options) => RedisLockModule.forRootAsync(options)],
    ['waitTimeout', (options) => RedisLockModule.forRoot({ defaults: options })],
    ['password', (options) => RedisLockModule.forRoot({ connection: options })],
    ['password', (options) => RedisLockModule.forRoot({ connection: { cluster: [options] } })],
    [
      'password',
      (options) =>
        RedisLockModule.forRoot({ connection: { cluster: ['redis://a'], options: { redisOptions: options } } }),
    ],
    ['expire', (options) => define(options)()],
    ['readOnly', (options) => RedisLockDashboardModule.forRoot(options)],
    ['retryAfter', (options) => new LockExceptionFilter({ httpAdapter: {} } as any, options)],
    ['types', (options) => structuredLogs(readers.logger ?? ({} as any), options)],
    ['keys', (options) => openTelemetrySpans({} as any, options)],
    ['buckets', (options) => prometheusMetrics({ register: {} } as any, options)],
  ];

  it('are refused by name in every call: accessors and inherited options', async () => {
    for (const [name, call] of calls(service)) {
      const accessor = Object.defineProperty({}, name, { get: () => 1_000, enumerable: true, configurable: true });
      const inherited = Object.create({ [name]: 1_000 });
      class Options {}
      Object.defineProperty(Options.prototype, name, { get: () => 1_000 });
      const notListed = Object.defineProperty({}, name, { value: 1_000 });
      for (const options of [accessor, inherited, new Options(), notListed]) {
        const error = await refusal(() => call(options));
        expect({ call: String(call), code: error?.code }).toEqual({ call: String(call), code: 'LOCK_CONFIG' });
        expect(error.message).toContain(name);
        expect(error.message).toMatch(/is (a getter|inherited|not enumerable) in an object/);
      }
    }
  });

  it('are not read by the check of another option', () => {
    let runs = 0;
    const accessor = Object.defineProperty({ kind: 'read' }, 'permits', { enumerable: true, get: () => (runs += 1) });
    expect(() => OPTIONS.acquire.read('acquire', accessor)).toThrow('permits is a getter in an object');
    expect(runs).toBe(0);
    Object.defineProperty(Object.prototype, 'permits', { value: 5, configurable: true });
    try {
      expect(OPTIONS.acquire.read('acquire', { kind: 'read' }).kind).toBe('read');
      expect(() => OPTIONS.acquire.read('acquire', { units: 2 })).toThrow('needs the total number of permits');
    } finally {
      delete (Object.prototype as { permits?: unknown }).permits;
    }
  });

  it('are refused: promises, maps, dates, symbols as names', async () => {
    const wrong: Array<[unknown, RegExp]> = [
      [Promise.resolve({}), /a promise.*await/],
      [new Map([['expire', 1]]), /Map/],
      [new Set(), /Set/],
      [new Date(), /Date/],
    ];
    for (const [name, call] of calls(service)) {
      for (const [options, message] of wrong) {
        const error = await refusal(() => call(options));
        expect({ call: String(call), code: error?.code }).toEqual({ call: String(call), code: 'LOCK_CONFIG' });
        expect(error.message).toMatch(message);
      }
      if (name === 'password') continue;
      const error = await refusal(() => call({ [Symbol('speed')]: 1 }));
      expect({ call: String(call), message: error?.message }).toEqual({
        call: String(call),
        message: expect.stringContaining('Symbol(speed)'),
      });
    }
  });

  it('leave nothing in Redis if a proxy changes them between two reads', async () => {
    for (const name of 'onLost reentrant expire owner permits signal pattern waitTimeout type'.split(' ')) {
      for (let good = 0; good < 8; good++) {
        let looks = 0;
        const options = new Proxy({} as any, {
          get: (target, property) => {
            if (property === name && looks++ >= good) throw new Error('changed');
            return target[property];
          },
        });
        for (const take of [
          () => service.acquire('a', options),
          () => service.acquire(['a', 'b'], options),
          () => service.run('a', () => undefined, options),
          () => service.tryAcquire('a', options),
        ]) {
          let handle: any;
          try {
            handle = await take();
          } catch {
            continue;
          } finally {
            await handle?.release();
            expect({ name, good, held: [await service.inspect('a'), await service.inspect('b')] }).toEqual({
              ...{ name, good },
              held: [null, null],
            });
          }
        }
      }
    }
  });

  it('are refused from an asynchronous factory, too', async () => {
    const { providers } = RedisLockModule.forRootAsync({ useFactory: () => Object.create({ commandTimeout: 1 }) });
    expect(await refusal((providers![0] as any).useFactory)).toMatchObject({
      code: 'LOCK_CONFIG',
      message: /commandTimeout/ as never,
    });
  });

  it('are refused as a connection: a URL object', async () => {
    const error = await refusal(root({ connection: new URL('redis://ann:s3cret@h') }));
    expect(error).toEqual(lockError('LOCK_CONFIG', 'an object (URL); write a URL'));
    expect(error.message).not.toContain('s3cret');
  });

  it('on a polluted Object.prototype never let two callers overlap', async () => {
    const services = [await bench.service(), await bench.service()];
    const [first, second] = services as [any, any];
    const names = [...NAMES, 'mode', 'kind', 'lease', 'renews', 'units', 'limit', 'again', 'keys', 'handles', 'turns'];
    const overlaps: string[] = [];
    for (const name of names) {
      for (const value of ['x', 'read', 1, true, null, {}]) {
        if (Object.hasOwn(Object.prototype, name)) throw new Error(name);
        const passed = new Section();
        const section = () => passed.pass(() => new Promise((resolve) => setImmediate(resolve)));
        const tries = (service: any): Array<() => Promise<unknown>> => [
          () => service.run('a', section),
          () => service.run('a', section, {}),
          () => service.run('a', section, { waitTimeout: 200 }),
          () => service.run(['a', 'b'], section, { expire: '2s', waitTimeout: 200 }),
          async () => {
            const handle = await service.tryAcquire('a');
            if (handle === null) return;
            await section();
            await handle.release();
          },
          ...[
            () => service.getLock('a'),
            () => service.getFairLock('a'),
            () => service.getReadWriteLock('a').writeLock(),
            () => service.getMultiLock(['a', 'b']),
          ].map((get) => async () => {
            const handle = await get().lock({ waitTimeout: 200 });
            await section();
            await handle.release();
          }),
        ];
        (Object.prototype as any)[name] = value;
        try {
          await Promise.allSettled([...tries(first), ...tries(second)].map((attempt) => attempt()));
        } finally {
          Reflect.deleteProperty(Object.prototype, name);
        }
        expect({ name, left: await first.inspect('a') }).toEqual({ name, left: null });
        if (passed.most > 1) overlaps.push(`${name} = ${JSON.stringify(value)}`);
      }
    }
    expect(overlaps).toEqual([]);
  });

  it('on a polluted Object.prototype neither share a lock nor change it', async () => {
    await service.acquire('warm').then((lock) => lock.release());
    (Object.prototype as any).owner = 'everybody';
    const first = await refusal(() => service.acquire('a', { waitTimeout: 100 }));
    expect(first).toEqual(lockError('LOCK_CONFIG', 'owner'));
    const plain = await service.acquire('a').catch(() => undefined);
    delete (Object.prototype as any).owner;
    expect(plain?.owner).not.toBe('everybody');
    await plain?.release();
  });

  it('are accepted if they are frozen or have no prototype', async () => {
    const bare = Object.assign(Object.create(null), { owner: 'ann' });
    for (const options of [bare, Object.freeze({ owner: 'ann' }), Object.freeze(bare)]) {
      for (const take of [
        () => service.acquire('a', options),
        () => service.tryAcquire('a', options),
        () => service.getLock('a', options).lock(),
        () => service.run('a', (lock) => lock, options),
      ]) {
        const lock = (await take())!;
        expect(lock.owner).toBe('ann');
        await lock.release();
      }
    }
  });
});

describe('options of the module', () => {
  const ofModule = [
    ...['keyPrefix', 'renewedLease', 'commandTimeout', 'shutdownTimeout', 'grantTimeout'],
    ...['localHandoffs', 'localHandoffTime', 'defaults', 'name', 'store', 'isGlobal', 'connection'],
  ].map((name) => [name, { [name]: null }] as const);
  const ofDefaults = ['expire', 'maxRenewTimes', 'waitTimeout', 'replicas', 'onContended', 'onLost'].map(
    (name) => [name, { defaults: { [name]: null } }] as const,
  );
  it.each([...ofModule, ...ofDefaults])('%s is not null: %j', async (name, options) => {
    const message = expect.stringContaining(name);
    expect(await refusal(root(options))).toMatchObject({ code: 'LOCK_CONFIG', message });
  });

  const getter = { get passphrase() { return 's3cret'; } }; // prettier-ignore
  it.each<[string, object]>([
    ['connection.tls', { tls: getter }],
    ['connection.sentinelTLS', { sentinels: [{ host: 'a' }], name: 'm', sentinelTLS: getter }],
    ['connection.sentinels[0]', { sentinels: [Object.create({ host: 'a' })], name: 'm' }],
    ['connection.tls', { tls: Object.create(Object.create({ key: 's3cret' }, {})) }],
    ['connection.options.redisOptions.tls', { cluster: ['redis://a'], options: { redisOptions: { tls: getter } } }],
    ['connection.options.redisOptions', { cluster: ['redis://a'], options: { redisOptions: 'x' } }],
  ])('%s copies its data', async (place, connection) => {
    const error = await refusal(root({ connection }));
    expect(error).toEqual(lockError('LOCK_CONFIG', place));
    expect(error.message).not.toContain('s3cret');
  });

  it.each<[string, (options: any) => unknown]>([
    ['LockTesting', (options) => new LockTesting(options)],
    ['RedisLockTestingModule.forRoot', (options) => RedisLockTestingModule.forRoot(options)],
  ])('%s reads its own options like the module', async (label, make) => {
    const hidden = Object.create({ commandTimeout: 5 });
    const accessor = { get clock() { return 'manual'; } }; // prettier-ignore
    for (const options of [null, 7, 'x', [], { store: 'memory' }, { clok: 'manual' }, hidden, accessor]) {
      const error = await refusal(() => make(options));
      expect({ options, code: error?.code }).toEqual({ options, code: 'LOCK_CONFIG' });
      expect(error.message).toContain(label);
    }
  });
});

describe('options outside the module', () => {
  it.each([
    [{ retryAfer: 1 }, "did you mean 'retryAfter'?"],
    [{ retryAfter: NaN }, 'retryAfter is NaN'],
    [{ retryAfter: -1 }, 'retryAfter is -1'],
    [{ retryAfter: '1' }, 'retryAfter is "1"'],
    [{ timeoutStatus: 200 }, 'timeoutStatus is 200'],
    [{ timeoutStatus: 600 }, 'timeoutStatus is 600'],
    [{ timeoutStatus: 423.5 }, 'timeoutStatus is 423.5'],
    ['423', 'takes an object'],
  ])('LockExceptionFilter refuses %j', (options, message) => {
    expect(() => new LockExceptionFilter({ httpAdapter: {} } as any, options as any)).toThrow(
      lockError('LOCK_CONFIG', message),
    );
  });

  it('LockExceptionFilter accepts HTTP errors, with and without options', () => {
    for (const options of [
      undefined,
      {},
      { timeoutStatus: 409 as const, retryAfter: 0 },
      { timeoutStatus: 423 as const },
    ]) {
      expect(() => new LockExceptionFilter({ httpAdapter: {} } as any, options)).not.toThrow();
    }
  });

  const silent = { debug() {}, warn() {} };
  const client: any = { Histogram: class {}, Counter: class {}, Gauge: class {} };
  const tracer: any = { startSpan: () => ({}) };
  it.each<[string, () => unknown, string]>([
    ['types that are no list', () => structuredLogs(silent, { types: 'lost' as any }), 'types'],
    [
      'a type that there is not',
      () => structuredLogs(silent, { types: ['lots' as any] }),
      'types[0] is "lots"; write \'lost\'',
    ],
    ['an option of logs', () => structuredLogs(silent, { type: ['lost'] } as any), "did you mean 'types'?"],
    ['a logger that is none', () => structuredLogs({} as any), 'logger'],
    ['an option of spans', () => openTelemetrySpans(tracer, { key: false } as any), "did you mean 'keys'?"],
    ['keys', () => openTelemetrySpans(tracer, { keys: 'no' as any }), 'keys is "no"'],
    ['a tracer that is none', () => openTelemetrySpans({} as any), 'tracer'],
    ['a meter that is none', () => openTelemetryMetrics({} as any), 'meter'],
    ['an option of Prometheus', () => prometheusMetrics({} as any, { bucket: [1] } as any), "did you mean 'buckets'?"],
    ['buckets', () => prometheusMetrics({} as any, { buckets: [1, NaN] }), 'buckets[1] is NaN'],
    ['buckets that do not grow', () => prometheusMetrics({} as any, { buckets: [2, 1] }), 'buckets'],
    ['no buckets', () => prometheusMetrics({} as any, { buckets: [] }), 'buckets'],
    ['a registry', () => prometheusMetrics(client, { registry: 1 as any }), 'registry'],
    ['no client', () => prometheusMetrics(undefined as any), 'client'],
  ])('metrics refuse %s', (_what, make, message) => {
    expect(make).toThrow(lockError('LOCK_CONFIG', message));
  });
});

describe('options that are permitted but suspicious', () => {
  const about = (word: string): string[] => bench.warnings.filter((text) => text.includes(word));

  it('cause one warning: a fixed lease with maxRenewTimes', async () => {
    for (let i = 0; i < 3; i++) {
      const lock = await service.acquire(`a${i}`, { expire: '5s', maxRenewTimes: 3 });
      await lock.release();
    }
    expect(about('maxRenewTimes')).toEqual([expect.stringMatching(/fixed lease.*not renewed.*leave/)]);
    await service.acquire('b', { expire: '5s', maxRenewTimes: 3, pattern: 'b:*' });
    expect(about('maxRenewTimes')).toHaveLength(2);
    expect(about('maxRenewTimes')[1]).toContain('b:*');
    await bench.service({ defaults: { expire: '5s', maxRenewTimes: 3 } });
    expect(about('maxRenewTimes')).toHaveLength(3);
  });

  it('cause no warning: a fixed lease in a module whose default is maxRenewTimes', async () => {
    const service = await bench.service({ defaults: { maxRenewTimes: 3 } });
    await service.acquire('a', { expire: '5s' });
    expect(about('maxRenewTimes')).toEqual([]);
  });

  it('cause one warning for each method or pattern, whatever values a caller computes', async () => {
    for (const waitTimeout of [5, 6, 7]) await (await service.acquire(`key:${waitTimeout}`, { waitTimeout })).release();
    expect(bench.warnings.filter((text) => text.includes('waitTimeout'))).toHaveLength(1);
  });

  it('cause one warning that seconds may be meant: a waitTimeout from 1 to 49', async () => {
    for (let i = 0; i < 3; i++) await service.acquire(`a${i}`, { waitTimeout: 5 }).catch(() => undefined);
    expect(about('waitTimeout')).toEqual([expect.stringMatching(/waitTimeout is 5.*'5s'/)]);
    await service
      .getLock('b', { pattern: 'b:*' })
      .tryLock(30, '1s')
      .catch(() => undefined);
    expect(about('waitTimeout')).toHaveLength(2);
    await service
      .getCountDownLatch('c')
      .await(10)
      .catch(() => undefined);
    expect(about('waitTimeout')).toHaveLength(3);
    await bench.service({ defaults: { waitTimeout: 10 } });
    expect(about('waitTimeout')).toHaveLength(4);
  });

  it.each([0, 50, 1_000, '5ms', '5s', Infinity] as const)('cause no warning: waitTimeout %s', async (waitTimeout) => {
    const service = await bench.service({ defaults: { waitTimeout } });
    await service.acquire('a', { waitTimeout }).catch(() => undefined);
    expect(about('waitTimeout')).toEqual([]);
  });

  it('cause one warning per decorated method, and none for a text with a unit', async () => {
    class Jobs {
      @DistributedLock({ key: 'a', waitTimeout: 7, expire: '9s', maxRenewTimes: 2, onContended: 'skip' })
      async wrong(): Promise<void> {}
      @DistributedLock({ key: 'b', waitTimeout: '7ms' })
      async right(): Promise<void> {}
    }
    const { getLockServiceToken } = await import('nestjs-redis-locks');
    const jobs = Object.assign(new Jobs(), { [getLockServiceToken()]: service });
    for (let i = 0; i < 3; i++) {
      await jobs.wrong().catch(() => undefined);
      await jobs.right().catch(() => undefined);
    }
    expect([about('waitTimeout').length, about('maxRenewTimes').length, bench.warnings.length]).toEqual([1, 1, 2]);
  });
});

describe('options that cannot be used', () => {
  const refused: Array<[options: any, message: RegExp]> = [
    [{ expire: Infinity }, /write 0/],
    [{ waitTimeout: ' 5 ' }, /waitTimeout is " 5 "; write .*with a unit/],
    [{ maxRenewTimes: Infinity }, /0 for no limit/],
    [{ holdAtLeast: '2s', expire: '1s' }, /longer than expire/],
    [{ reentrant: 'no' }, /reentrant is "no"; write true or false/],
    [{ reentrant: 0 }, /reentrant is 0; write true or false/],
    [{ signal: new AbortController() }, /controller\.signal/],
    [{ timeout: 1000 }, /did you mean 'waitTimeout'/],
    [{ expires: 1000 }, /did you mean 'expire'/],
    ['10s', /object of options/],
    [null, /object of options/],
  ];

  it.each(refused)('%p are refused before anything is sent', async (options, message) => {
    await bench.redis.resetCommandStats();
    for (const work of [
      () => service.acquire('a', options),
      () => service.tryAcquire('a', options),
      () => service.run('a', () => 'ran', options),
    ]) {
      expect(await refusal(work)).toEqual(lockError('LOCK_CONFIG', message));
    }
    expect(await bench.calls()).toBe(0);
    expect(await bench.redis.admin.keys('*')).toEqual([]);
  });

  it.each([{ owner: '' }, { owner: 'a b' }, { name: 'me' }, 'me', null])('getLock refuses %p', async (options) => {
    expect(() => service.getLock('a', options as never)).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG' }));
  });

  it('are refused in re-entry, too', async () => {
    await service.run('a', async () => {
      await expect(service.acquire('a', { expire: 5 })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    });
  });
});
