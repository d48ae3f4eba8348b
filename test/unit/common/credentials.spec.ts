import { mayBeConnection, withoutLogin } from '../../../lib/common/credentials.js';
import { quote } from '../../../lib/common/describe.js';
import { foreignError } from '../../../lib/store/redis/foreign-error.js';
import { guardCredentials } from '../../../lib/store/redis/credentials.js';

describe('a text, cleaned of the login of a URL', () => {
  it.each([
    ['redis://ann:pw@host:6379/0 failed', 'redis://***@host:6379/0 failed'],
    ['at rediss://:p@ss/wo?rd#@host', 'at rediss://***@host'],
    ['redis://ann:a b@host', 'redis://***@host'],
    ['redis://host:6379', 'redis://host:6379'],
    ['mail ann@host', 'mail ann@host'],
    ['to redis://host?db=1&password=a%20b&family=4', 'to redis://host?db=1&password=***&family=4'],
    ['to redis://host?sentinelPassword=x', 'to redis://host?sentinelPassword=***'],
    ['at file:///app/node_modules/@nestjs/core/index.js:1', 'at file:///app/node_modules/@nestjs/core/index.js:1'],
  ])('%s', (text, expected) => {
    expect(withoutLogin(text)).toBe(expected);
  });

  it.each(['a', '://', 'a://', '@', 'file://@'])('takes linear time for %j a hundred thousand times', (part) => {
    const before = process.cpuUsage();
    withoutLogin(part.repeat(100_000));
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000); // µs
  });
});

it.each([
  ['ann:s3cret@host:6379', '"***@host:6379"'],
  ['ann:s3cret@host:6379/0', '"***@host:6379/0"'],
  ['{"host":"h","password":"s3cret"}', '"{\\"host\\":\\"h\\",\\"password\\":\\"***\\"}"'],
  ['{host:h,password:s3cret}', '"{host:h,password:***}"'],
  ["{ passphrase: 's3cret s3cret' }", '"{ passphrase: \'***\' }"'],
  ['password', '"password"'],
  ['reset-password:42', '"reset-password:42"'],
  ['{password}:42', '"{password}:42"'],
  ['user:42@home', '"user:42@home"'],
])('a quoted value %s', (text, expected) => {
  expect(quote(text)).toBe(expected);
});

describe('a text that may be a connection', () => {
  it.each([
    'redis://h',
    ' REDISS://h',
    'valkey://:pw@h',
    'unix:///tmp/x',
    'redis-sentinel://h',
    'REDIS_URL=redis://:pw@h',
    "'redis://h'",
    '{"host":"h"}',
    '{ "password": "x" }',
    '[{"password":"x"}]',
    '{host:h,password:x}',
    'redis://h?password=x',
  ])('%s', (text) => {
    expect(mayBeConnection(text)).toBe(true);
  });

  it.each([
    '{stock}:42',
    '{password}:42',
    '{user:1}:password:2',
    '{user:1}:a',
    'page:https://example.com/@ann',
    'mail:ann@example.com',
    'redis:jobs',
    '[a]',
  ])('not %s', (text) => {
    expect(mayBeConnection(text)).toBe(false);
  });
});

describe('a foreign error', () => {
  const owner = {};

  it('loses all secrets in use, also those replaced in a client, and keeps the rest', () => {
    const client = { options: { password: 'Longer-Secret', tls: { passphrase: 'ab' } } };
    guardCredentials(owner, client);
    const said = (text: string): string => foreignError(new Error(text)).message;
    expect(said('no xLonger-Secrety here')).toBe('no x***y here');
    expect(said('about ab, "ab", key=ab')).toBe('about ab, "***", key=***');
    client.options.password = 'Another-Secret';
    expect(said('no Another-Secret here')).toBe('no *** here');
    expect(said('a Longer-Secret was')).toBe('a Longer-Secret was');
  });

  it.each(['or', 'a', 'lock', 'pair', 'invalid', 'password', 'username', '6379', 'Error', '***', '$&'])(
    'shows no gap in a well-known text for the secret %s, and does not repeat it',
    (password) => {
      guardCredentials(owner, { password });
      const auth = { command: { name: 'auth', args: [password] } };
      const known = 'WRONGPASS invalid username-password pair or user is disabled.';
      const copy = foreignError(Object.assign(new Error(known), auth));
      expect(copy.message).toBe(known);
      expect(copy.stack).toMatch(/^Error: WRONGPASS invalid username-password pair or user is disabled\.\n +at /);
      expect(foreignError(new Error('connect ECONNREFUSED 127.0.0.1:6379')).message).toMatch(/127\.0\.0\.1:6379$/);
      expect(foreignError(new Error(`got '${password}' here`)).message).toBe("got '***' here");
      expect(foreignError(Object.assign(new Error(`ERR what is ${password} ?`), auth)).message).toBe(
        'ERR what is *** ?',
      );
    },
  );

  it('loses the forms of a secret in a URL, a query and JSON, and a secret that cannot be encoded', () => {
    const said = (password: string, text: string): string => {
      guardCredentials(owner, { password });
      return foreignError(new Error(text)).message;
    };
    expect(said('with space&more', 'a with%20space%26more b with+space%26more')).toBe('a *** b ***');
    expect(said('back\\slash"quote', JSON.stringify({ p: 'back\\slash"quote' }))).toBe('{"p":"***"}');
    expect(said('half \ud800 surrogate', 'a half \ud800 surrogate b')).toBe('a *** b');
  });

  it('reads TLS secrets from getters and classes, and survives errors and cycles', () => {
    class Tls {
      get passphrase(): string {
        return 'made-by-a-class';
      }
    }
    const said = (options: object): string => {
      guardCredentials(owner, options);
      return foreignError(new Error('made-by-a-class, made-by-a-getter, a-plain-secret')).message;
    };
    expect(said({ tls: new Tls() })).toBe('***, made-by-a-getter, a-plain-secret');
    expect(said({ tls: { get passphrase() { return 'made-by-a-getter'; } } })).toContain(', ***,'); // prettier-ignore
    const round: Record<string, unknown> = { password: 'a-plain-secret' };
    round['tls'] = { options: round, get key() { throw new Error('no'); } }; // prettier-ignore
    expect(said(round)).toBe('made-by-a-class, made-by-a-getter, ***');
  });

  it('is still an error if it cannot be read', () => {
    const error = new Error('x');
    for (const name of ['stack', 'message', 'code', 'cause', 'command']) {
      Object.defineProperty(error, name, { get: () => { throw new Error('no'); } }); // prettier-ignore
    }
    expect(foreignError(error)).toBeInstanceOf(Error);
  });

  it('has copies of its nested errors, and is copied once', () => {
    const refused = (port: number) =>
      Object.assign(new Error(`refused ${port}`), { code: 'ECONNREFUSED', port, args: ['x'] });
    const several = new AggregateError([refused(1), refused(2)]);
    const outer = Object.assign(new Error('all failed', { cause: several }), {
      command: { name: 'auth', args: ['x'] },
    });
    const copy = foreignError(outer) as any;
    expect(copy).toMatchObject({ name: 'Error', message: 'all failed', command: { name: 'auth' } });
    expect(copy.command.args).toBeUndefined();
    expect(copy.cause).toBeInstanceOf(AggregateError);
    expect(copy.cause.message).toBe('refused 1; refused 2');
    expect(copy.cause.errors).toMatchObject([{ port: 1, code: 'ECONNREFUSED' }, { port: 2 }]);
    expect(copy.cause.errors[0].args).toBeUndefined();
    expect([foreignError(outer), foreignError(copy)]).toEqual([copy, copy]);
  });

  it('ends if errors refer to each other', () => {
    const error = new Error('round') as Error & { cause?: unknown };
    error.cause = error;
    expect(foreignError(error).message).toBe('round');
  });

  it('does not show the value that Node refuses', () => {
    const error = Object.assign(new TypeError('must be string. Received type number (1234)'), {
      code: 'ERR_INVALID_ARG_TYPE',
    });
    expect(foreignError(error).message).toBe('must be string. Received ***');
    expect(foreignError(error).stack).not.toContain('1234');
  });
});
