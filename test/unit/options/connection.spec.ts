import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { readConnections, type LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import { resolveModuleOptions } from '../../../lib/module/redis-lock.options.js';

const node = { host: 'a', port: 6379 };

describe('connection', () => {
  it.each([
    { cluster: [node, 'redis://b:6379', 7000] },
    { sentinels: [node], name: 'mymaster' },
    { cluster: [node], options: { slotsRefreshTimeout: 5_000, optionOfALaterVersion: 1, redisOptions: {} } },
    { host: 'a', tls: { minVersion: 'TLSv1.2', crl: 'x', checkServerIdentity: 1, ciphers: 'x' } },
    { host: 'a', port: '6380' },
  ])('accepts %j', (written) => {
    expect(readConnections(written)).toEqual({ ...('cluster' in written && { options: {} }), ...written });
  });

  it.each([
    ['no nodes', { cluster: [] }, 'connection.cluster is an empty array; write a list of nodes'],
    ['a node that is none', { cluster: [node, null] }, 'connection.cluster[1] is null; write a node'],
    ['a node without a list', { cluster: node }, 'connection.cluster is an object; write a list of nodes'],
    ['options of nodes beside them', { cluster: [node], password: 'x' }, 'no option "password" beside cluster'],
    [
      'options that are none',
      { cluster: [node], options: 'x' },
      'connection.options is a string of 1 characters; write an object',
    ],
    ['a URL as an option', { url: 'redis://:secret@a' }, 'connection has no option "url": write the URL itself'],
    [
      'options of node-redis',
      { socket: node },
      'connection has no option "socket": write what it contains: connection: { host, port }',
    ],
    ['a list of nodes', { nodes: [node] }, 'for a Cluster write connection: { cluster: [{ host, port }, …]'],
    ['options within config', { config: node }, 'connection has no option "config": write what'],
    [
      'an unknown option',
      { host: 'a', passwort: 'secret' },
      'connection has no option "passwort": did you mean \'password\'?',
    ],
    ['that of a node', { cluster: [{ host: 'a', url: 'b' }] }, 'connection.cluster[0] has no option "url"'],
    [
      'a misspelt option of the Cluster',
      { cluster: [node], options: { slotRefreshTimeout: 5_000 } },
      'connection.options has no option "slotRefreshTimeout": did you mean \'slotsRefreshTimeout\'?',
    ],
    [
      'an option of nodes among those of the Cluster, where ioredis ignores it',
      { cluster: [node], options: { password: 'secret' } },
      'connection.options has no option "password": write options of each node in redisOptions: { password }.',
    ],
    [
      'a misspelt option of nodes among those of the Cluster',
      { cluster: [node], options: { pasword: 'secret' } },
      'connection.options has no option "pasword": did you mean \'password\'? Write options of each node in redisOptions',
    ],
    [
      'a misspelt option of nodes',
      { cluster: [node], options: { redisOptions: { pasword: 'secret' } } },
      'connection.options.redisOptions has no option "pasword": did you mean \'password\'?',
    ],
    [
      'a misspelt option beside Sentinels',
      { sentinels: [node], name: 'm', sentinelPasword: 'secret' },
      'connection has no option "sentinelPasword": did you mean \'sentinelPassword\'?',
    ],
    [
      'a misspelt option of a Sentinel',
      { sentinels: [{ hots: 'a' }], name: 'm' },
      'connection.sentinels[0] has no option "hots": did you mean \'host\'?',
    ],
    [
      'a misspelt option of TLS',
      { host: 'a', tls: { rejectUnauthorised: false } },
      'connection.tls has no option "rejectUnauthorised": did you mean \'rejectUnauthorized\'?',
    ],
    [
      'a port in letters',
      { host: 'a', port: 'x' },
      'connection.port is "x"; write a port: a whole number from 0 to 65535',
    ],
    ['a port that is no number', { host: 'a', port: NaN }, 'connection.port is NaN; write a port'],
    ['a port that no server has', { host: 'a', port: 70_000 }, 'connection.port is 70000; write a port'],
    ['a port from an empty variable', { host: 'a', port: '' }, 'connection.port is an empty string; write a port'],
    ['a node whose port no server has', { cluster: [70_000] }, 'connection.cluster[0] is 70000; write a port'],
    [
      'a Sentinel whose port no server has',
      { sentinels: [{ host: 'a', port: -1 }], name: 'm' },
      'connection.sentinels[0].port is -1; write a port',
    ],
    [
      'a URL as the host',
      { host: 'redis://:secret@a' },
      "connection.host is a URL or a login: write only the name, such as 'redis.internal', or the URL in place of the options.",
    ],
    ['a host that is no text', { host: 5 }, 'connection.host is a number; write the name or address of the server'],
    ['a host from an empty variable', { host: '' }, 'connection.host is an empty string; write the name or address'],
    [
      'a path that is no text',
      { path: 5 },
      "connection.path is a number; write the path of a socket: '/tmp/redis.sock'",
    ],
    [
      'a URL as the path',
      { path: 'redis://:secret@a' },
      'connection.path is a string of 17 characters; write the path',
    ],
    [
      'Sentinels without a name',
      { sentinels: [node] },
      "connection.sentinels stand without name: write name: 'mymaster'",
    ],
    ['TLS of another library in a query', 'redis://a?ssl=1', 'connection has no option "ssl": for TLS write rediss://'],
    ['TLS of another library', { host: 'a', ssl: true }, 'connection has no option "ssl": for TLS write rediss://'],
    ['a misspelt option in a query', 'redis://a?pasword=secret', "did you mean 'password'?"],
    ['a database in letters', 'redis://a/abc', 'the database of connection is "abc"'],
    ['a database in the query', 'redis://a?db=-1', 'the database of connection is "-1"'],
    ['a database in letters among options', { host: 'a', db: 'abc' }, 'connection.db is "abc"'],
    ['a database that is no number', { host: 'a', db: NaN }, 'connection.db is NaN'],
    [
      'a stub',
      { evalsha: async () => 1, duplicate: () => ({}), options: {} },
      'no client of ioredis, or of node-redis',
    ],
    ['a stub of a Cluster', { isCluster: true, duplicate: () => ({}), options: {} }, 'no client of ioredis'],
    [
      'a wrapper',
      new (class KeyvRedis {
        get() {}
      })(),
      'an object (KeyvRedis) that is no client of ioredis',
    ],
    [
      'a service that returns its client',
      new (class RedisService {
        private readonly clients = new Map();
        getClient() {
          return this.clients.get('default');
        }
      })(),
      'which has a client: write connection: service.getClient().',
    ],
    ['a store with a client', { redis: createClient(), prefix: '' }, 'write connection: object.redis.'],
    [
      'a client of node-redis 4',
      { isOpen: false, options: {}, duplicate() {}, sendCommand() {}, on() {} },
      'no client of ioredis, or of node-redis 5 or 6',
    ],
    ['a pool', createClientPool(), 'that is no client of ioredis, or of node-redis 5 or 6: a pool'],
    ['a pool of a client', createClient().createPool(), 'for a pool createClient() with the same options'],
    [
      'getters of a class, which ioredis would not see',
      new (class Settings {
        get url() {
          return 'redis://:secret@a';
        }
      })(),
      'connection: url is inherited in an object (Settings)',
    ],
    [
      'credentials that are no function',
      { credentials: 'secret' },
      'connection.credentials is a string of 6 characters',
    ],
    ['no credentials', { credentials: null }, 'connection.credentials is null'],
    [
      'Sentinels in a text',
      { sentinels: 'a:secret@b', name: 'm' },
      'connection.sentinels is a string of 10 characters',
    ],
    ['an empty list of Sentinels', { sentinels: [], name: 'm' }, 'connection.sentinels is an empty array'],
    ['a URL behind a blank', ' redis://:secret@a', 'white space'],
    ['a URL in front of a line break', 'redis://:secret@a\n', 'white space'],
    ['a node behind a tab', { cluster: ['\tredis://:secret@a'] }, 'white space'],
    ['a URL with a % of its own in the password', 'redis://:secret%zz@a', '%25'],
    ['a URL with a % of its own in the database', 'redis://:secret@a/%zz', '%25'],
    ['a Cluster among masters', ['redis://a', { cluster: [node] }, 'redis://c'], 'connection[1] is a Cluster'],
    ['two masters', ['redis://a', 'redis://b'], 'an array of 2: Redlock takes 3 or more'],
    ['no masters', [], 'an array of 0'],
    ['a master twice', ['redis://a', 'redis://b', 'redis://a'], 'connection[2] is the same as connection[0]'],
    ['a master without a scheme', ['redis://a', 'b:6379', 'redis://c'], 'connection[1] must be a URL'],
    ['masters among masters', ['redis://a', ['redis://b'], 'redis://c'], 'connection[1] is an array within an array'],
    [
      'a client of a Cluster among masters',
      ['redis://a', 'redis://b', new Cluster([node], { lazyConnect: true })],
      'connection[2] is a Cluster',
    ],
  ])('refuses %s', (_what, written, message) => {
    const read = (): unknown => readConnections(written);
    expect(read).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG', message: expect.stringContaining(message) }));
    expect(read).not.toThrow(/secret/);
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
