import { inspect } from 'node:util';
import { readCommandLine, UsageError, type CommandLine } from '../../../lib/cli/arguments.js';
import { run } from '../../../lib/cli/run.js';
import { connect } from '../../../lib/cli/session.js';

const read = (...args: string[]) => readCommandLine(args, {});

describe('a command line', () => {
  it('has defaults, and Redis from the environment', () => {
    expect(read('ls')).toEqual({
      ...{ command: 'ls', subject: undefined, prefix: undefined, timeout: 5_000, interval: 1_000 },
      ...{ connections: ['redis://127.0.0.1:6379'], force: false, hold: undefined, json: false, color: true },
      ...{ sort: 'key', holder: undefined },
    });
    expect(readCommandLine(['ls'], { REDIS_URL: 'redis://a' })).toMatchObject({ connections: ['redis://a'] });
    expect(readCommandLine(['ls', '-c', 'redis://b'], { REDIS_URL: 'redis://a' })).toMatchObject({
      connections: ['redis://b'],
    });
  });

  it('without arguments asks for help', () => {
    expect([read(), read('ls', '-h'), read('--version')]).toEqual([{ help: undefined }, { help: 'ls' }, 'version']);
  });

  it.each([
    [
      ['-p', 'shop', 'release', 'a', '--force', '--json', '-t', '500ms'],
      { command: 'release', subject: 'a', prefix: 'shop', force: true, json: true, timeout: 500 },
    ],
    [['inspect', '-c', '{"host":"h"}', 'a b'], { connections: [{ host: 'h' }], subject: 'a b' }],
    [['inspect', '--', '-key'], { subject: '-key' }],
  ])('has options before and after the command, and keys with a dash: %j', (args, options) => {
    expect(read(...args)).toMatchObject(options);
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
    [['inspect', 'a', 'b'], 'inspect takes one key: quote a key that contains spaces'],
    [['doctor', 'a', 'b'], 'doctor takes one key: quote a key that contains spaces'],
    [['inspect', ''], 'is empty'],
    [['ls', '--force'], '--force is not an option of ls'],
    [['inspect', 'a', '--hold', 'x'], '--hold is not an option of inspect'],
    [['release', 'a', '--hold', ''], '--hold is empty: write the id of a hold'],
    [['release', 'a', '--force', '--holder', ' '], '--holder is empty: write a part of a label'],
    [['doctor', '--interval', '1s'], '--interval is not an option of doctor'],
    [
      ['watch', '--interval', '5'],
      "--interval takes a time with a unit, from 1ms to 24d, such as 500ms or 10s, not '5'",
    ],
    [['watch', '-i', 'soon'], "not 'soon'"],
    [['ls', '-t', '25d'], "not '25d'"],
    [['ls', '--prefix'], '--prefix needs a value'],
    [['ls', '-p'], '--prefix needs a value'],
    [['ls', '-t', '-5'], '-t needs a value: write a value that begins with a dash as in --prefix=-x'],
    [['ls', '--json=1'], '--json takes no value'],
    [
      ['inspect', '-x'],
      'there is no option -x: see --help; write a key that begins with a dash after --, as in inspect -- -key',
    ],
    [['completion', 'bash', 'zsh'], 'completion takes one shell: bash, zsh or fish'],
    [['ls', '--sort', 'age'], "--sort takes one of key, held, waiters, lease, not 'age'"],
    [['inspect', 'a', '--sort', 'held'], '--sort is not an option of inspect'],
    [['completion', 'tcsh'], 'takes one of bash, zsh, fish'],
    [['completion'], 'takes one of bash, zsh, fish'],
    [['completion', 'bash', '--json', '--force'], '--force is not an option of completion'],
    [['watch', '--interval', '0s'], "not '0s'"],
    [['ls', '--nonsense'], 'there is no option --nonsense'],
    [['ls', '--url', 'redis://x'], 'there is no option --url: write --connection redis://HOST:PORT'],
  ])('%j is refused', (args, why) => {
    expect(() => read(...args)).toThrow(UsageError);
    expect(() => read(...args)).toThrow(why);
  });

  it.each([
    ['redis://ann:12/s3cret@h', '%40 for @, %2F for /, %3F for ?'],
    ['ann:s3cret@h', "such as 'redis://user:password@host:6379/0'"],
  ])('%s: the advice is printed as it is, without the password', async (url, advice) => {
    let printed = '';
    const stderr = { write: (text: string) => (printed += text) !== '' };
    const stdout = { ...stderr, isTTY: false, columns: 80, rows: 24 } as never;
    expect(await run(['ls', '-c', url], {}, '1.0.0', { stdout, stderr })).toBe(2);
    expect(printed).toContain(advice);
    expect(printed).not.toMatch(/s3cret|ann/);
  });

  it('does not repeat a possible password', () => {
    expect(() => read('ls', '-c', '{password:"secret"}')).toThrow(UsageError);
    expect(() => read('ls', '-c', '{password:"secret"}')).not.toThrow('secret');
  });

  it.each([
    [['redis://ann:s3cret@h']],
    [['ls', 'redis://ann:s3cret@h']],
    [['inspect', 'redis://ann:s3cret@h']],
    [['inspect', 'a', 'redis://ann:s3cret@h']],
    [['release', 'redis://ann:s3cret@h', '--force']],
    [['watch', ' redis://ann:s3cret@h']],
    [['doctor', 'redis://ann:s3cret@h']],
    [['ls', '-t', 'redis://ann:s3cret@h']],
    [['ls', '-i', 'redis://ann:s3cret@h']],
    [['ls', '-p', 'redis://ann:s3cret@h']],
    [['ls', '--holder', 'redis://ann:s3cret@h']],
    [['ls', '--sort', 'ann:s3cret@h:6379']],
    [['completion', 'ann:s3cret@h:6379']],
    [['ls', '--url=redis://ann:s3cret@h']],
    [['ls', '--json=redis://ann:s3cret@h']],
    [['ls', '--redis://ann:s3cret@h']],
    [['ls', '-redis://ann:s3cret@h']],
    [['ls', '{"host":"h","password":"s3cret"}']],
    [['{"host":"h","password":"s3cret"}']],
    [['ls', '--{ "password": "s3cret" }']],
    [['ann:s3cret@h:6379']],
    [['ls', '--ann:s3cret@h:6379']],
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
    [['-c', '{"cluster":[]}'], 'connection.cluster is an empty array; write a list of nodes'],
    [
      ['-c', '{"cluster":["redis://a"],"password":"secret"}'],
      'connection has no option "password": write options of each node in',
    ],
    [
      ['-c', '{"cluster":["redis://a"]}', '-c', 'redis://b', '-c', 'redis://c'],
      'connection[0] has no option "cluster": write a Cluster without options of a server',
    ],
  ])('%j is refused before anything is connected', async (args, why) => {
    const refusal = connect(read('ls', ...args) as CommandLine);
    await expect(refusal).rejects.toBeInstanceOf(UsageError);
    await expect(refusal).rejects.toThrow(why);
  });
});
