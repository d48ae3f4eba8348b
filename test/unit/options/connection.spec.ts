import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import {
  readConnections,
  warningsAboutUrls,
  type LockConnectionOption,
} from '../../../lib/module/redis-lock.connection.js';
import { resolveModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

const node = { host: 'a', port: 6379 };

describe('connection', () => {
  it.each([
    { cluster: [node, 'redis://b:6379', 7000] },
    { sentinels: [node], name: 'mymaster' },
    { cluster: [node], options: { slotsRefreshTimeout: 5_000, optionOfALaterVersion: 1, redisOptions: {} } },
    { host: 'a', tls: { minVersion: 'TLSv1.2', crl: 'x', checkServerIdentity: 1, ciphers: 'x' } },
    { host: 'a', port: '6380' },
    { Connector: 'its own', hosts: ['a'] },
  ])('accepts %j', (written) => {
    expect(readConnections(written)).toEqual(written);
  });

  it.each([
    ['connection.cluster is an empty array; write a list of nodes', { cluster: [] }],
    ['connection.cluster[1] is null; write a node', { cluster: [node, null] }],
    ['connection.cluster is an object; write a list of nodes', { cluster: node }],
    [
      'no option "password": write options of each node in connection.options.redisOptions',
      { cluster: [node], password: 'x' },
    ],
    [
      'connection.options takes an object of options; this is a string of 1 characters',
      { cluster: [node], options: 'x' },
    ],
    ['connection has no option "url": write the URL itself', { url: 'redis://:secret@a' }],
    [
      'connection has no option "sentinelRootNodes": for Sentinels write connection: { sentinels',
      { sentinelRootNodes: [node], name: 'm' },
    ],
    ['connection has no option "socket": write what it contains: connection: { host, port }', { socket: node }],
    ['for a Cluster write connection: { cluster: [{ host, port }, …]', { nodes: [node] }],
    ['connection has no option "config": write what', { config: node }],
    ['connection has no option "passwort": did you mean \'password\'?', { host: 'a', passwort: 'secret' }],
    ['connection.cluster[0] has no option "url"', { cluster: [{ host: 'a', url: 'b' }] }],
    [
      'connection.options has no option "slotRefreshTimeout": did you mean \'slotsRefreshTimeout\'?',
      { cluster: [node], options: { slotRefreshTimeout: 5_000 } },
    ],
    [
      'connection.options has no option "password": write options of each node in redisOptions: { password }.',
      { cluster: [node], options: { password: 'secret' } },
    ],
    [
      'connection.options has no option "pasword": did you mean \'password\'? If so, write options of each node in redisOptions',
      { cluster: [node], options: { pasword: 'secret' } },
    ],
    [
      'connection.options.redisOptions has no option "pasword": did you mean \'password\'?',
      { cluster: [node], options: { redisOptions: { pasword: 'secret' } } },
    ],
    [
      'connection has no option "sentinelPasword": did you mean \'sentinelPassword\'?',
      { sentinels: [node], name: 'm', sentinelPasword: 'secret' },
    ],
    ['connection.sentinels[0] has no option "hots": did you mean \'host\'?', { sentinels: [{ hots: 'a' }], name: 'm' }],
    [
      'connection.tls has no option "rejectUnauthorised": did you mean \'rejectUnauthorized\'?',
      { host: 'a', tls: { rejectUnauthorised: false } },
    ],
    ['connection.port is "x"; write a port: a whole number from 0 to 65535', { host: 'a', port: 'x' }],
    ['connection.port is NaN; write a port', { host: 'a', port: NaN }],
    ['connection.port is 70000; write a port', { host: 'a', port: 70_000 }],
    ['connection.port is an empty string; write a port', { host: 'a', port: '' }],
    ['connection.cluster[0] is 70000; write a port', { cluster: [70_000] }],
    ['connection.sentinels[0].port is -1; write a port', { sentinels: [{ host: 'a', port: -1 }], name: 'm' }],
    [
      "connection.host is a string of 17 characters; write only the name or address of the server, such as 'redis.internal', or a URL",
      { host: 'redis://:secret@a' },
    ],
    ['connection.host is a number; write only the name or address of the server', { host: 5 }],
    ['connection.host is an empty string; write only the name or address', { host: '' }],
    ['connection.host is a string of 6 characters; write only the name or address', { host: 'a:6379' }],
    ['connection.cluster is a string of 9 characters; write a list of nodes', { cluster: 'redis://a' }],
    ['connection is a number; write a URL such as', 42],
    ["connection.path is a number; write the path of a socket: '/tmp/redis.sock'", { path: 5 }],
    ['connection.path is a string of 17 characters; write the path', { path: 'redis://:secret@a' }],
    ["connection.sentinels stand without name: write name: 'mymaster'", { sentinels: [node] }],
    ['connection has no option "ssl": for TLS write rediss://', 'redis://a?ssl=1'],
    ['connection has no option "ssl": for TLS write rediss://', { host: 'a', ssl: true }],
    ["did you mean 'password'?", 'redis://a?pasword=secret'],
    ['the database of connection is "abc"', 'redis://a/abc'],
    ['the database of connection is "-1"', 'redis://a?db=-1'],
    ['connection.db is "abc"', { host: 'a', db: 'abc' }],
    ['connection.db is NaN', { host: 'a', db: NaN }],
    ['connection is an object; write a URL such as', { evalsha: async () => 1, duplicate: () => ({}), options: {} }],
    [
      'a client of ioredis, or of node-redis 5 or 6: not a pool, a wrapper, a stub',
      { isCluster: true, duplicate: () => ({}), options: {} },
    ],
    [
      'connection is an object (KeyvRedis); write a URL',
      new (class KeyvRedis {
        get() {}
      })(),
    ],
    [
      'connection is an object (RedisService); write',
      new (class RedisService {
        private readonly clients = new Map();
        getClient() {
          return this.clients.get('default');
        }
      })(),
    ],
    ['not a pool, a wrapper, a stub, a service that has a client', { redis: createClient(), prefix: '' }],
    [
      'a client of ioredis, or of node-redis 5 or 6: not',
      { isOpen: false, options: {}, duplicate() {}, sendCommand() {}, on() {} },
    ],
    ['a client of ioredis, or of node-redis 5 or 6: not a pool', createClientPool()],
    ['a client of ioredis, or of node-redis 5 or 6: not a pool', createClient().createPool()],
    [
      'connection: url is inherited in an object (Settings)',
      new (class Settings {
        get url() {
          return 'redis://:secret@a';
        }
      })(),
    ],
    ['connection.credentials is a string of 6 characters', { credentials: 'secret' }],
    ['connection.credentials is null', { credentials: null }],
    ['connection.sentinels is a string of 10 characters', { sentinels: 'a:secret@b', name: 'm' }],
    ['connection.sentinels is an empty array', { sentinels: [], name: 'm' }],
    ['is no valid URL: remove white space around it', ' redis://:secret@a'],
    ['is no valid URL: remove white space around it', 'redis://:secret@a\n'],
    ['is no valid URL: remove white space around it', { cluster: ['\tredis://:secret@a'] }],
    ['percent-encode special characters in user, password and database: %40 for @', 'redis://:secret%zz@a'],
    ['percent-encode special characters in user, password and database: %40 for @', 'redis://:secret@a/%zz'],
    [
      'connection[1] has no option "cluster": write a Cluster without options of a server, and in no array',
      ['redis://a', { cluster: [node] }, 'redis://c'],
    ],
    ['an array of 2: Redlock takes 3 or more', ['redis://a', 'redis://b']],
    ['an array of 0', []],
    ['connection[1] must be a URL', ['redis://a', 'b:6379', 'redis://c']],
    ['connection[2] is the same as an earlier one', ['redis://a', 'redis://b', 'redis://a']],
    ['connection[1] is undefined: is a variable such as', ['redis://a', undefined, undefined]],
    ['connection[1] takes an object of options; this is an array', ['redis://a', ['redis://b'], 'redis://c']],
    [
      'connection[2] is an object (EventEmitter); write a URL',
      ['redis://a', 'redis://b', new Cluster([node], { lazyConnect: true })],
    ],
  ])('refuses with: %s', (message, written) => {
    const read = (): unknown => readConnections(written);
    expect(read).toThrow(lockError('LOCK_CONFIG', message));
    expect(read).not.toThrow(/secret/);
  });

  it.each<[string, string[], LockConnectionOption]>([
    ['a URL', ['ssl_cert_reqs', 'x'], 'redis://a?family=6&ssl_cert_reqs=none&x'],
    ['a master', ['x'], ['redis://a', 'redis://b?x=1', 'redis://c']],
    ['a node', ['x'], { cluster: [node, 'redis://b?x=1'] }],
    ['nothing', [], 'redis://a?family=6'],
    ['options', [], { host: 'a', optionOfALaterVersion: 1 } as object],
  ])('warns of options that ioredis ignores in %s', (_what, names, connection) => {
    expect(warningsAboutUrls(connection)).toEqual(
      names.map(
        (name) => `connection: "${name}" in the URL has no effect, because it is no option of ioredis: leave it out.`,
      ),
    );
  });

  it('accepts clients of ioredis and of node-redis', () => {
    const legacy = createClient().withTypeMapping({});
    for (const client of [
      new Redis({ lazyConnect: true }),
      new Cluster([node], { lazyConnect: true }),
      createClient(),
      createCluster({ rootNodes: [] }),
      createSentinel({ name: 'mymaster', sentinelRootNodes: [] }),
      legacy,
    ]) {
      expect(readConnections(client)).toBe(client);
    }
  });

  it.each<[string, () => LockConnectionOption]>([
    ['options', () => ({ host: 'a', keyPrefix: 'app:' })],
    ['a URL', () => 'redis://a?keyPrefix=app:'],
    ['a client', () => new Redis({ keyPrefix: 'app:', lazyConnect: true })],
    ['a Cluster', () => new Cluster([node], { keyPrefix: 'app:', lazyConnect: true })],
    ['a Cluster of node-redis', () => createCluster({ rootNodes: [], defaults: { keyPrefix: 'app:' } as object })],
    ['the nodes of a Cluster', () => ({ cluster: [node], options: { redisOptions: { keyPrefix: 'app:' } } })],
    ['a master', () => ['redis://a', 'redis://b', { host: 'c', keyPrefix: 'app:' }]],
  ])('refuses a keyPrefix of ioredis in %s unless the keyPrefix of the module begins with it', (_what, connection) => {
    const resolve = (keyPrefix?: string): unknown =>
      resolveModuleOptions({ connection: connection(), ...(keyPrefix !== undefined && { keyPrefix }) });
    const message = expect.stringMatching(/client option keyPrefix "app:".*Write it there: keyPrefix: "app:lock"/);
    expect(() => resolve()).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG', message }));
    expect(() => resolve('other')).toThrow(/keyPrefix: "app:other"/);
    expect(resolve('app:lock')).toMatchObject({ keyPrefix: 'app:lock' });
  });
});
