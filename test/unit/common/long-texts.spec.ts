import { assertKey, lockKey } from '../../../lib/keys/index.js';
import { isLockError } from '../../../lib/errors/index.js';
import { compileKeyTemplate } from '../../../lib/keys/key-template.js';
import { mayBeConnection, withoutSecret } from '../../../lib/common/credentials.js';
import { oneLine, quote } from '../../../lib/common/describe.js';
import { durationIn } from '../../../lib/common/duration.js';
import { createLockClient, type LockClient } from '../../../lib/client/index.js';
import { readConnections } from '../../../lib/module/redis-lock.connection.js';
import { heldLocks } from '../../../lib/service/list-locks.js';

const LENGTH = 1_000_000;
/** ms of the processor. Time that grows with the square of the length would be minutes. */
const AT_MOST = 2_500;

/** Texts on which an expression that tries each length at each place takes time that grows with the square. */
const TEXTS = [' ', '\n', '{', '#{', '[ ', "'", ':', '/', 'a', '0', '\ud800', '{#a', 'redis://', 'a:b@', 'password: ']
  .map((part) => `${part.repeat(LENGTH / part.length)}x`)
  .concat(`redis://${'a:'.repeat(LENGTH / 2)}`, `{"password":"${' '.repeat(LENGTH)}`);

const readers: Record<string, (text: string) => unknown> = {
  'a key': (text) => assertKey(text),
  'a value in lockKey': (text) => lockKey`a:${text}`,
  'a template': (text) => compileKeyTemplate(text, { className: 'A', methodName: 'b', parameters: { names: ['a'] } }),
  'a value in a template': (text) =>
    compileKeyTemplate('#{#a + #a}', { className: 'A', methodName: 'b', parameters: { names: ['a'] } })({
      args: [text],
      self: undefined,
    }),
  'a duration': (text) => durationIn(text) ?? durationIn(`${text}ms`),
  'a connection': (text) => readConnections(text),
  'a text that is printed': (text) => [quote(text), oneLine(text), withoutSecret(text), mayBeConnection(text)],
};

/** The milliseconds for which the processor worked, whatever comes of the work. */
async function work(task: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  try {
    await task();
  } catch (error) {
    // Most readers refuse such a text.
    if (!isLockError(error)) throw error;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function expectLinear(read: (text: string) => unknown): Promise<void> {
  for (const text of TEXTS) {
    const ms = await work(() => read(text));
    if (ms >= AT_MOST) throw new Error(`${ms} ms for ${JSON.stringify(text.slice(0, 20))}`);
  }
}

describe('a long text', () => {
  it.each(Object.entries(readers))('as %s is read in time that grows with its length', async (_name, read) => {
    await expectLinear(read);
  });

  describe('in a call of a client', () => {
    let locks: LockClient;
    beforeAll(async () => {
      locks = await createLockClient({ store: 'memory', keyPrefix: 'long-texts' });
    });
    afterAll(() => locks.close());

    const calls: Record<string, (text: string) => Promise<unknown>> = {
      acquire: (text) => locks.acquire(text),
      'acquire by an owner': (text) => locks.acquire('a', { owner: text }),
      'acquire with a lease': (text) => locks.acquire('a', { expire: text as '1s' }),
      'acquire of a kind': (text) => locks.acquire('a', { kind: text as 'read' }),
      'acquire with an option': (text) => locks.acquire('a', { [text]: 1 }),
      inspect: (text) => locks.inspect(text),
      forceRelease: (text) => locks.forceRelease(text),
      adopt: (text) => locks.adopt(text),
    };
    it.each(Object.entries(calls))('%s is refused', async (_name, call) => {
      await expectLinear((text) => expect(call(text)).rejects.toMatchObject({ code: expect.stringMatching(/^LOCK_/) }));
    });
  });
});

describe('a pattern with hundreds of wildcards', () => {
  const key = 'a'.repeat(512);
  const locks = {
    listKeys: async () => ({ keys: [key], cursor: undefined, time: 0 }),
    inspect: async () => ({ key, fencingToken: 1, holders: [] }) as never,
  };
  const found = async (match: string): Promise<number> => {
    let count = 0;
    for await (const _ of heldLocks(locks, match)) count += 1;
    return count;
  };

  it.each([
    ['*a'.repeat(300), 1],
    [`${'*a'.repeat(300)}b`, 0],
    [`a${'*a'.repeat(511)}`, 1],
    [`a${'*a'.repeat(512)}`, 0],
    ['*'.repeat(1_000), 1],
    [key, 1],
    [`${key}*${key}`, 0],
  ])('%.20s… is compared in time that grows with its length', async (match, count) => {
    let matched = 0;
    const ms = await work(async () => (matched = await found(match)));
    expect(matched).toBe(count);
    expect(ms).toBeLessThan(AT_MOST);
  });
});
