import { inspect } from 'node:util';
import {
  DistributedLock,
  getLockServiceToken,
  InjectLockService,
  RedisLockModule,
  UseLock,
  type DistributedLockOptions,
  type RedisLockModuleOptions,
} from 'nestjs-redis-locks';
import { RedisLockDashboardModule } from 'nestjs-redis-locks/dashboard';
import { LockHealthIndicator } from '../../../lib/observation/health/index.js';
import { getLockTestingToken } from 'nestjs-redis-locks/testing';

/** Defines a class with a lock, as the import of a user's file does. */
const define = (options: unknown) => () => {
  class Stock {
    @DistributedLock(options as DistributedLockOptions)
    async reserve(order: { sku: string }): Promise<string> {
      return order.sku;
    }
  }
  return Stock;
};

const defineHandler = (options: unknown) => () => {
  class Orders {
    @UseLock(options as never)
    pay(id: string): string {
      return id;
    }
  }
  return Orders;
};

const module = (options: unknown) => () => RedisLockModule.forRoot(options as RedisLockModuleOptions);

const SITE = '@DistributedLock on Stock.reserve';

it.each([
  ['a decorator of a method', define({ key: 'a', expires: 1 })],
  ['a decorator of a handler', defineHandler({ key: 'a', expires: 1 })],
  ['arguments of a decorator', define('')],
  ['the module', module({ expire: 1 })],
])('the stack of an error begins in the file that is loaded: %s', (_, load) => {
  let stack = '';
  try {
    load();
  } catch (error) {
    stack = (error as Error).stack!;
  }
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const first = frames.find((frame) => !/__decorate|_ts_decorate|reflect-metadata|forRoot/.test(frame));
  expect(first).toContain('boot-errors.spec');
});

it.each([
  ['key missing', {}, [SITE, 'key is undefined; write', "key: 'stock:#{#order.sku}'"]],
  ['no key among several', { key: ['a', undefined] }, [SITE, 'key[1] is undefined']],
  ['an empty list of keys', { key: [] }, [SITE, 'key is an empty array; write']],
  ['no options', undefined, [SITE, 'takes an object of options']],
  ['no option at all', { key: 'a', quorum: 3 }, ['no option "quorum"', 'the options are key, expire']],
  ['lease too short', { key: 'a', expire: '10ms' }, ['expire is too short', 'at least 50 ms']],
  ['lease endless', { key: 'a', expire: Infinity }, ['expire is endless: write 0']],
  [
    'onUnavailable',
    { key: 'a', onUnavailable: 'ignore' },
    ["onUnavailable is \"ignore\"; write 'throw', 'skip' or a function"],
  ],
  ['condition', { key: 'a', condition: true }, ['condition is true; write a function']],
  ['returns', { key: 'a', returns: 'stream' }, [`returns is "stream"; write 'promise' or 'observable'`]],
  ['an unknown kind', { key: 'a', kind: 'shared' }, ["write 'exclusive', 'read' or 'write'"]],
  ['a kind without a text', { key: 'a', kind: Object.create(null) }, ["kind is an object; write 'exclusive'"]],
  ["kind: 'fair'", { key: 'a', kind: 'fair' }, ['fair: true']],
  ['no permits', { key: 'a', permits: 0 }, ['permits']],
  ['fair as a text', { key: 'a', fair: 'yes' }, ['fair']],
  ['a list with an empty key', { key: ['a', ''] }, ['key']],
  ['replicas without min', { key: 'a', replicas: {} }, ['replicas.min']],
  ['replicas of none', { key: 'a', replicas: { min: 0 } }, ['replicas.min']],
])('a lock that cannot be used stops the application when its class is defined %s', (_what, options, parts) => {
  for (const part of parts) expect(define(options)).toThrow(part);
});

describe('options of the module that cannot be used', () => {
  it.each([
    ['misspelt', { conection: 'x' }, ['no option "conection"', "did you mean 'connection'?"]],
    ['URL of something else', { connection: 'http://x' }, ['redis:// or rediss://']],
    ['URL that is none', { connection: 'redis://a:bc@[x' }, ['no valid URL']],
    ['no connection at all', { connection: 5 }, ['connection is a number; write a URL']],
    ['connection null', { connection: null }, ['connection is null; write a URL']],
    ['port alone', { port: 6379 }, ['write connection: { port }']],
    ['misspelt port', { prot: 6379 }, ["did you mean 'port'? If so, write connection: { port }."]],
    [
      'keyBuilder',
      { keyBuilder: 'acme' },
      ['keyBuilder is "acme"; write a function that returns the key at once: (key) => '],
    ],
    ['isGlobal', { isGlobal: 'yes' }, ['isGlobal is "yes"; write true or false']],
    ['watchdog in seconds', { renewedLease: 30 }, ["renewedLease is in milliseconds: write '30s'"]],
    [
      'instance',
      { instance: '' },
      ["instance is an empty string; write the name of a RedisLockModule, such as 'jobs'"],
    ],
    ['default', { defaults: { waitTimeout: 'long' } }, ['defaults.waitTimeout is "long"']],
    ['default lease in seconds', { defaults: { expire: 10 } }, ["defaults.expire is in milliseconds: write '10s'"]],
    ['misspelt default', { defaults: { waitTimout: 1 } }, ["did you mean 'waitTimeout'?"]],
  ])('%s', (_what, options, parts) => {
    for (const part of parts) expect(module(options)).toThrow(part);
  });

  const url = 'redis://user:s3cret@host:6379';
  it.each<[string, () => unknown]>([
    ['as another protocol', module({ connection: url.replace('redis', 'tcp') })],
    ['in place of the options', module(url)],
    ['as the name', module({ name: url })],
    ['as the prefix', module({ keyPrefix: url })],
    ['as the prefix, with braces', module({ keyPrefix: `{${url}}` })],
    ['as the store', module({ store: url })],
    ['as a duration', module({ commandTimeout: url })],
    ['as an option', module({ [url]: true })],
    ['as a default', module({ defaults: { [url]: 1 } })],
    ['within a list', module({ connection: [[url]] })],
    ['with an @ in the password', module({ connection: 'redis://user:12/s3cret@host:6379' })],
    ['with an @ behind a #', module({ connection: 'redis://user:12#s3cret@host:6379' })],
    ['with an @ among nodes', module({ connection: { cluster: ['redis://user:12/s3cret@host:6379'] } })],
    ['as an instance', () => InjectLockService(url)],
    ['as the connection of a method', define({ key: 'a', connection: url })],
    ['as the pattern of a method', define({ key: 'a', kind: url })],
    ['in a key that is none', define({ key: `#{${url}` })],
    [
      'as a prefix that chooses the slot',
      module({ connection: { cluster: ['redis://a'], options: { keyPrefix: `{${url}}` } } }),
    ],
    ['as the name of an option beside nodes', module({ connection: { cluster: ['redis://a'], [url]: 1 } })],
    ['as the name of a getter', module({ connection: { get [url]() { return 1; } } })], // prettier-ignore
    ['as the name of a token', () => getLockServiceToken(url)],
    ['as the name of a token, with another scheme', () => getLockServiceToken(url.replace('redis', 'valkey'))],
    ['as the name of a token, without a scheme', () => getLockServiceToken('user:s3cret@host:6379')],
    ['as the name of a token of tests', () => getLockTestingToken(url)],
    [
      'as the name of an asynchronous module',
      () => RedisLockModule.forRootAsync({ instance: url, useFactory: () => ({}) }),
    ],
    ['as the instance of a page', () => RedisLockDashboardModule.forRoot({ guards: 'none', instance: ['jobs', url] })],
    [
      'as the instance of a page, with a variable',
      () => RedisLockDashboardModule.forRoot({ guards: 'none', instance: `URL=${url}` }),
    ],
    ['as the path of a page', () => RedisLockDashboardModule.forRoot({ guards: 'none', path: url })],
    ['in a query', module({ store: 'redis://host:6379?password=s3cret' })],
    ['without a scheme', module({ keyPrefix: 'user:s3cret@host:6379' })],
    ['as JSON', module({ commandTimeout: '{"host":"h","password":"s3cret"}' })],
  ])('do not repeat a password that is given %s', (_where, make) => {
    let error: any;
    try {
      make();
    } catch (thrown) {
      error = thrown;
    }
    expect(error?.code).toMatch(/^LOCK_(CONFIG|KEY)$/);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('s3cret');
  });

  it('do not repeat a password that a factory returns as the name, and a check as the instance', async () => {
    const { providers } = RedisLockModule.forRootAsync({ useFactory: () => ({ instance: url }) });
    const check = new LockHealthIndicator({ names: () => ['default'], service: () => undefined } as never);
    for (const work of [(providers![0] as any).useFactory, () => check.check('locks', { instance: url })]) {
      const error: unknown = await work().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'LOCK_CONFIG' });
      expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('s3cret');
    }
  });
});
