import { describe, expect, it } from '@jest/globals';
import { withoutLogin } from '../../../lib/common/credentials.js';
import { foreignError } from '../../../lib/store/redis/foreign-error.js';
import { guardCredentials } from '../../../lib/store/redis/credentials.js';

describe('a text without the login of a URL', () => {
  it.each([
    ['redis://ann:pw@host:6379/0 failed', 'redis://***@host:6379/0 failed'],
    ['at rediss://:p@ss/wo?rd#@host', 'at rediss://***@host'],
    ['redis://ann:a b@host', 'redis://***@host'],
    ['redis://host:6379', 'redis://host:6379'],
    ['mail ann@host', 'mail ann@host'],
    ['at file:///app/node_modules/@nestjs/core/index.js:1', 'at file:///app/node_modules/@nestjs/core/index.js:1'],
  ])('%s', (text, expected) => {
    expect(withoutLogin(text)).toBe(expected);
  });

  it.each(['a', '://', 'a://', '@', 'file://@'])('takes no longer for %j a hundred thousand times', (part) => {
    const since = performance.now();
    withoutLogin(part.repeat(100_000));
    expect(performance.now() - since).toBeLessThan(1_000);
  });
});

describe('a foreign error', () => {
  const owner = {};

  it('loses secrets in use, also those that were exchanged in a client, and keeps the rest', () => {
    const client = { options: { password: 'Longer-Secret', tls: { passphrase: 'ab' } } };
    guardCredentials(owner, client);
    const said = (text: string): string => foreignError(new Error(text)).message;
    expect(said('no xLonger-Secrety here')).toBe('no x***y here');
    expect(said('about ab, "ab"')).toBe('about ***, "***"');
    client.options.password = 'Another-Secret';
    expect(said('no Another-Secret here')).toBe('no *** here');
    expect(said('a Longer-Secret was')).toBe('a Longer-Secret was');
  });

  it('has copies of the errors within it, and is copied once', () => {
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

  it('ends where errors refer to each other', () => {
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
