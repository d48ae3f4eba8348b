import fc from 'fast-check';
import { createRequire } from 'node:module';
import { LockConfigError } from '../../../lib/errors/index.js';
import { resolveModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { assertKey, clientChannel, keyOfState, latchKeys, redisKeys } from '../../../lib/keys/index.js';

// Comes with ioredis, without types.
const slotOf = createRequire(import.meta.url)('cluster-key-slot') as (key: string) => number;

function isKey(key: string): boolean {
  try {
    assertKey(key);
    return true;
  } catch {
    return false;
  }
}

/** Keys made of the same parts as names, so that collisions would be found. */
const key = fc
  .oneof(
    fc
      .array(fc.constantFrom('{', '}', ':', 'a', 'state', 'queue', 'fence', 'lock'), { minLength: 1, maxLength: 7 })
      .map((parts) => parts.join('')),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
  )
  .filter(isKey);

const partsOf = (name: string): string[] => [
  ...Object.values(redisKeys('lock', name)),
  ...Object.values(latchKeys('lock', name)),
];

describe('names in Redis', () => {
  it.each([
    ['stock:42', 'lock:state:{stock:42}'],
    ['order:{42}:pay', 'lock:state:order:{42}:pay'],
    ['{a}:{b}', 'lock:state:{a}:{b}'],
    ['a{b', 'lock:state:{a{b}'],
    ['a{}b', 'lock:state:{a{}b}'],
    ['{}b', 'lock:state:{{}b}'],
  ])('%s is kept under %s', (name, state) => {
    expect(redisKeys('lock', name).state).toBe(state);
  });

  it('show the key that they belong to', () => {
    fc.assert(fc.property(key, (name) => keyOfState('lock', redisKeys('lock', name).state) === name));
    expect(
      ['lock:queue:{a}', 'lock:state:', 'other:state:{a}', 'lock:state:}{'].map((name) => keyOfState('lock', name)),
    ).toEqual(Array(4).fill(undefined));
  });

  it('the roles, and the channel of a client', () => {
    expect({ ...redisKeys('shop:lock', 'a'), ...latchKeys('shop:lock', 'a') }).toEqual({
      state: 'shop:lock:state:{a}',
      ends: 'shop:lock:ends:{a}',
      queue: 'shop:lock:queue:{a}',
      waiters: 'shop:lock:waiters:{a}',
      fence: 'shop:lock:fence:{a}',
      tombstones: 'shop:lock:tombstones:{a}',
      limit: 'shop:lock:limit:{a}',
      latch: 'shop:lock:latch:{a}',
      counted: 'shop:lock:counted:{a}',
    });
    expect(clientChannel('lock', '0a1b')).toBe('lock:client:0a1b');
  });

  it('all parts of a lock are in one Cluster slot', () => {
    fc.assert(
      fc.property(key, (name) => new Set(partsOf(name).map((part) => slotOf(part))).size === 1),
      { numRuns: 5_000 },
    );
  });

  it('a hash tag in the key decides the slot', () => {
    expect(slotOf(redisKeys('lock', 'order:{42}:pay').state)).toBe(slotOf('{42}'));
    expect(slotOf(redisKeys('lock', 'order:{42}:ship').queue)).toBe(slotOf('{42}'));
  });

  it('no part of one lock is a part of another', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        if (a === b) return true;
        const ofA = new Set(partsOf(a));
        return partsOf(b).every((part) => !ofA.has(part));
      }),
      { numRuns: 20_000 },
    );
  });

  it('all short keys of braces are distinct, too', () => {
    const owners = new Map<string, string>();
    const alphabet = ['{', '}', 'a', ':'];
    let names = [''];
    for (let length = 1; length <= 6; length++) {
      names = names.flatMap((name) => alphabet.map((char) => name + char));
      for (const name of names.filter(isKey)) {
        for (const part of partsOf(name)) {
          expect(owners.get(part) ?? name).toBe(name);
          owners.set(part, name);
        }
      }
    }
    expect(owners.size).toBeGreaterThan(4_000);
  });
});

describe('keyPrefix', () => {
  const read = (keyPrefix: unknown): string => resolveModuleOptions({ keyPrefix } as object).keyPrefix;

  it.each(['lock', 'shop:lock', 'a-b_c.d:1', 'state', 'state:lock', 'shop:states', 'x'.repeat(64)])('%s', (prefix) => {
    expect(read(prefix)).toBe(prefix);
  });

  it.each<[unknown, string]>([
    ['', 'an empty string'],
    ['a b', '"a b"'],
    ['{a}', '"{a}"'],
    ['a\n', '"a\\n"'],
    ['ü', '"ü"'],
    ['x'.repeat(65), 'xxx"…'],
    [null, 'null'],
    [{}, 'an object'],
    ['shop:state', '"shop:state"'],
    ['shop:state:lock', '"shop:state:lock"'],
    [':state:', '":state:"'],
  ])('refuses %j', (prefix, given) => {
    const message = `${given}; write 1 to 64 letters, digits, '_', '-', '.' and ':', such as 'lock' or 'shop:lock', without ':state'`;
    expect(() => read(prefix)).toThrow(LockConfigError);
    expect(() => read(prefix)).toThrow(message);
  });
});
