import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { readConnections } from '../../../lib/module/redis-lock.connection.js';

const node = { host: 'a', port: 6379 };

describe('connection', () => {
  it.each([
    [{ cluster: [node, 'redis://b:6379', 7000] }, { cluster: [node, 'redis://b:6379', 7000], options: {} }],
    [
      { cluster: [node], options: { keyPrefix: 'app:' } },
      { cluster: [node], options: { keyPrefix: 'app:' } },
    ],
    [
      { sentinels: [node], name: 'mymaster' },
      { sentinels: [node], name: 'mymaster' },
    ],
  ])('accepts %j', (written, read) => {
    expect(readConnections(written)).toEqual(read);
  });

  it.each([
    ['no nodes', { cluster: [] }, 'connection.cluster must be a list of nodes'],
    ['a node that is none', { cluster: [node, null] }, 'connection.cluster must be a list of nodes'],
    ['a node without a list', { cluster: node }, 'connection.cluster must be a list of nodes'],
    ['options of nodes beside them', { cluster: [node], password: 'x' }, 'connection.password is not known'],
    ['options that are none', { cluster: [node], options: 'x' }, 'connection.options must be'],
    ['a prefix that chooses the slot', { cluster: [node], options: { keyPrefix: '{app}:' } }, 'one slot'],
    ['that for all nodes', { cluster: [node], options: { redisOptions: { keyPrefix: '{a}' } } }, 'one slot'],
    ['a prefix with the name of a role', { host: 'a', keyPrefix: 'app:state:' }, "':state' begins the name"],
    ['that of a Cluster', { cluster: [node], options: { keyPrefix: 'app:state:' } }, "':state' begins the name"],
    ['a URL behind a blank', ' redis://:secret@a', 'white space'],
    ['a URL in front of a line break', 'redis://:secret@a\n', 'white space'],
    ['a node behind a tab', { cluster: ['\tredis://:secret@a'] }, 'white space'],
    ['a Cluster among masters', ['redis://a', { cluster: [node] }, 'redis://c'], 'connection[1] is a Cluster'],
  ])('refuses %s', (_what, written, message) => {
    const read = (): unknown => readConnections(written);
    expect(read).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG', message: expect.stringContaining(message) }));
    expect(read).not.toThrow(/secret/);
  });

  it('refuses a client whose prefix contains the name of a role', () => {
    const client = new Redis({ keyPrefix: 'app:state:', lazyConnect: true });
    expect(() => readConnections(client)).toThrow(/the keyPrefix of the ioredis client is "app:state:"/);
  });

  it('accepts a client of a Cluster as it is, unless its prefix decides the slot', () => {
    const [plain, tagged] = ['app:', '{app}:'].map(
      (keyPrefix) => new Cluster([node], { keyPrefix, lazyConnect: true }),
    );
    expect(readConnections(plain)).toBe(plain);
    expect(() => readConnections(tagged)).toThrow(/one slot/);
  });
});
