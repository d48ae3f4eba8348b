import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readCommandLine, UsageError } from '../../../lib/cli/arguments.js';
import { connect } from '../../../lib/cli/session.js';

const read = (...args: string[]) => readCommandLine(args, {});

describe('a command line', () => {
  it('has defaults, and Redis from the environment', () => {
    expect(read('ls')).toEqual({
      ...{ command: 'ls', subject: undefined, prefix: undefined, timeout: 5_000, interval: 1_000 },
      ...{ connections: ['redis://127.0.0.1:6379'], force: false, hold: undefined, json: false, color: true },
    });
    expect(readCommandLine(['ls'], { REDIS_URL: 'redis://a' })).toMatchObject({ connections: ['redis://a'] });
    expect(readCommandLine(['ls', '-c', 'redis://b'], { REDIS_URL: 'redis://a' })).toMatchObject({
      connections: ['redis://b'],
    });
  });

  it('without arguments asks for help', () => {
    expect([read(), read('ls', '-h'), read('--version')]).toEqual(['help', 'help', 'version']);
  });

  it('accepts options before and after the command', () => {
    expect(read('-p', 'shop', 'release', 'a', '--force', '--json', '-t', '500ms')).toMatchObject({
      ...{ command: 'release', subject: 'a', prefix: 'shop', force: true, json: true, timeout: 500 },
    });
    expect(read('inspect', '-c', '{"host":"h"}', 'a b')).toMatchObject({
      connections: [{ host: 'h' }],
      subject: 'a b',
    });
  });

  it("accepts the module's connections as JSON", () => {
    const cluster = { cluster: [{ host: 'a', port: 1 }, 'redis://b'], options: { scaleReads: 'all' } };
    const sentinels = { sentinels: [{ host: 'a', port: 1 }], name: 'main' };
    for (const connection of [cluster, sentinels]) {
      const text = JSON.stringify(connection);
      expect(read('ls', '-c', text)).toMatchObject({ connections: [connection] });
      expect(readCommandLine(['ls'], { REDIS_URL: text })).toMatchObject({ connections: [connection] });
    }
  });

  it.each([
    [['list'], "unknown command 'list'"],
    [['inspect'], 'needs a key'],
    [['inspect', 'a', 'b'], 'one key'],
    [['doctor', 'a'], 'takes no argument'],
    [['inspect', ''], 'is empty'],
    [['ls', '--force'], '--force is not an option of ls'],
    [['inspect', 'a', '--hold', 'x'], '--hold is not an option of inspect'],
    [['release', 'a', '--hold', ''], '--hold is empty: write the id of a hold'],
    [['doctor', '--interval', '1s'], '--interval is not an option of doctor'],
    [['watch', '--interval', '5'], 'without a unit'],
    [['watch', '--interval', '0s'], 'longer than 0'],
    [['ls', '--nonsense'], 'nonsense'],
  ])('%j is refused', (args, why) => {
    expect(() => read(...args)).toThrow(UsageError);
    expect(() => read(...args)).toThrow(why);
  });

  it('does not repeat a possible password', () => {
    expect(() => read('ls', '-c', '{password:"secret"}')).toThrow(UsageError);
    expect(() => read('ls', '-c', '{password:"secret"}')).not.toThrow('secret');
  });

  it.each([
    [['redis://ann:s3cret@h']],
    [['rediss://ann:s3cret@h', 'ls']],
    [['ls', 'redis://ann:s3cret@h']],
    [['inspect', 'redis://ann:s3cret@h']],
    [['inspect', 'a', 'redis://ann:s3cret@h']],
    [['release', 'redis://ann:s3cret@h', '--force']],
    [['watch', ' redis://ann:s3cret@h']],
    [['doctor', 'redis://ann:s3cret@h']],
    [['ls', '-t', 'redis://ann:s3cret@h']],
    [['ls', '-i', 'redis://ann:s3cret@h']],
    [['ls', '-p', 'redis://ann:s3cret@h']],
    [['ls', '--url=redis://ann:s3cret@h']],
    [['ls', '--json=redis://ann:s3cret@h']],
    [['ls', '--redis://ann:s3cret@h']],
    [['ls', '-redis://ann:s3cret@h']],
    [['ls', '{"host":"h","password":"s3cret"}']],
    [['{"host":"h","password":"s3cret"}']],
    [['{host:h,password:s3cret}']],
    [['release', '[{"password":"s3cret"}]']],
    [['release', '{ "password": "s3cret" }', '--json']],
    [['ls', '--{ "password": "s3cret" }']],
    [['inspect', 'valkey://ann:s3cret@h']],
    [['inspect', "'redis://ann:s3cret@h'"]],
    [['inspect', 'REDIS_URL=redis://ann:s3cret@h']],
    [['inspect', 'redis://h?password=s3cret']],
    [['ls', 'redis-sentinel://:s3cret@h']],
    [['unix://:s3cret@/tmp/x']],
    [['ann:s3cret@h:6379']],
    [['ls', '-t', 'ann:s3cret@h:6379']],
    [['ls', '--ann:s3cret@h:6379']],
    [['ls', '--url=ann:s3cret@h:6379']],
  ])('%j: a URL in the wrong place is refused, and not repeated', (args) => {
    let error: unknown;
    try {
      read(...args);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(UsageError);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('s3cret');
    if (args.length === 2 && args[1] === 'redis://ann:s3cret@h') expect(String(error)).toContain('--connection');
  });

  it.each([
    [['-c', 'localhost'], 'redis://'],
    [['-p', 'a{b'], 'keyPrefix'],
    [['-c', 'redis://a', '-c', 'redis://b'], '3 or more'],
    [['-c', '{"cluster":[]}'], 'connection.cluster must be a list of nodes'],
    [['-c', '{"cluster":["redis://a"],"password":"secret"}'], 'connection.password is not known'],
    [['-c', '{"cluster":["redis://a"]}', '-c', 'redis://b', '-c', 'redis://c'], 'connection[0] is a Cluster'],
  ])('%j is refused before anything is connected', async (args, why) => {
    const line = read('ls', ...args);
    if (typeof line === 'string') throw new Error(line);
    const refusal = connect(line);
    await expect(refusal).rejects.toBeInstanceOf(UsageError);
    await expect(refusal).rejects.toThrow(why);
  });
});
