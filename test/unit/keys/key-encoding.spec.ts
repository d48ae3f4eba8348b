import fc from 'fast-check';
import { assertKey, encodeKeyPart, lockKey } from '../../../lib/keys/index.js';
import { refusalOf, throwing } from './support.js';

/** Undoes the encoding. `decodeURIComponent` refuses halves of surrogate pairs, whose code begins with ED and A or B. */
function decode(text: string): string {
  return text
    .split(/%ED%([AB][0-9A-F])%([0-9A-F]{2})/)
    .map((part, i, parts) => {
      if (i % 3 === 0) return decodeURIComponent(part);
      const [middle, low] = parts.slice(i, i + 2).map((byte) => Number.parseInt(byte, 16) & 0x3f);
      return i % 3 === 1 ? String.fromCharCode(0xd000 | (middle! << 6) | low!) : '';
    })
    .join('');
}

const anyString = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(':', '%', '{', '}', ' ', '\n', '3', 'A', 'a', '\ud800', '\udc00', '\ufffd', 'é', '😀'),
  }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);

describe('the encoding of values', () => {
  it.each<[string | number | bigint | boolean, string]>([
    ['plain-1_2.3/4@x', 'plain-1_2.3/4@x'],
    ['a:b', 'a%3Ab'],
    ['100%', '100%25'],
    ['%3A', '%253A'],
    ['{42}', '%7B42%7D'],
    ['a b\tc\nd', 'a%20b%09c%0Ad'],
    ['\0\x7f', '%00%7F'],
    ['\x85\xa0', '%C2%85%C2%A0'],
    ['\u2028\u2029\ufeff\u3000', '%E2%80%A8%E2%80%A9%EF%BB%BF%E3%80%80'],
    ['\ud800', '%ED%A0%80'],
    ['\udfff', '%ED%BF%BF'],
    ['\ufffd', '\ufffd'],
    ['Zürich 😀', 'Zürich%20😀'],
    [-0, '0'],
    [1.5, '1.5'],
    [10n ** 20n, '100000000000000000000'],
    [true, 'true'],
  ])('%p', (value, encoded) => {
    expect(encodeKeyPart(value)).toBe(encoded);
  });

  it('different strings stay different', () => {
    fc.assert(
      fc.property(anyString, (text) => decode(encodeKeyPart(text)) === text),
      { numRuns: 2_000 },
    );
  });

  it('leaves no special characters, and a valid key for Redis', () => {
    fc.assert(
      fc.property(anyString, (text) => {
        const encoded = encodeKeyPart(text);
        return !/[:{}\s\p{Cc}\p{Cs}]/u.test(encoded) && Buffer.from(encoded).toString() === encoded;
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps two values joined with a colon distinct from any others', () => {
    const part = fc.string({ unit: fc.constantFrom(':', '%', 'a', 'b', '3', 'A'), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(part, part, part, part, (a, b, c, d) => {
        const same = a === c && b === d;
        return (lockKey`${a}:${b}` === lockKey`${c}:${d}`) === same;
      }),
      { numRuns: 5_000 },
    );
    expect(lockKey`${'a:b'}:${'c'}`).not.toBe(lockKey`${'a'}:${'b:c'}`);
  });
});

describe('lockKey', () => {
  it('encodes values and leaves the text', () => {
    expect(lockKey`import:{${'a:b'}}:${5n}-${true}`).toBe('import:{a%3Ab}:5-true');
    expect(lockKey`plain`).toBe('plain');
  });

  it.each<[unknown, string]>([
    [undefined, 'is undefined'],
    [null, 'is null'],
    ['', 'is an empty string'],
    [Number.NaN, 'is NaN'],
    [new Date(), 'is an object (Date)'],
    [[], 'is an empty array'],
    ['x'.repeat(100_000), 'is a string of 100000 characters; a key has at most 512 bytes'],
  ])('refuses %p', (value, message) => {
    expect(refusalOf(() => lockKey`import:${value as string}:x`)).toContain(
      `lockKey: value 1, after "import:", ${message}`,
    );
  });

  it('refuses a Proxy that throws, too', () => {
    const proxy = throwing('getPrototypeOf', new Error('trap'));
    expect(refusalOf(() => lockKey`import:${proxy as unknown as string}`)).toContain(
      'value 1, after "import:", is an object; name a property',
    );
    expect(refusalOf(() => assertKey(proxy))).toBe(
      "A lock key must be a string; this one is an object: write a string, such as 'stock:42'.",
    );
  });

  it.each([['stock:1'], [['stock:', ''], 1], [], [undefined], [{ raw: 'stock' }]])('called with %p', (...args) => {
    expect(refusalOf(() => (lockKey as (...args: unknown[]) => string)(...args))).toBe(
      'lockKey is a tag, not a function: write lockKey`stock:${sku}`, without parentheses.',
    );
  });

  it('refuses a key that cannot be used as a whole', () => {
    expect(refusalOf(() => lockKey``)).toContain('is empty');
    expect(refusalOf(() => lockKey`{${1}}`)).toContain('is in braces as a whole');
    expect(refusalOf(() => lockKey`a\n${1}`)).toContain('"a\\n1" has a line break');
  });
});

describe('final keys', () => {
  it.each([
    'a',
    'stock:42',
    'a b',
    'Zürich 😀',
    'order:{42}:pay',
    '{a}:{b}',
    '{42}:x',
    'a{b',
    'a{}b',
    'x'.repeat(512),
    'é'.repeat(256),
    '|~z',
  ])('accept %j', (key) => {
    expect(assertKey(key)).toBe(key);
  });

  it.each<[unknown, string]>([
    ['', `The lock key "" is empty: write a string, such as 'stock:42'.`],
    [undefined, "A lock key must be a string; this one is undefined: write a string, such as 'stock:42'."],
    [5, "A lock key must be a string; this one is a number: write a string, such as 'stock:42'."],
    [['a'], "A lock key must be a string; this one is an array: write a string, such as 'stock:42'."],
    ['x'.repeat(513), `"${'x'.repeat(60)}"… is too long: 513 characters, where 512 bytes are allowed.`],
    ['é'.repeat(257), 'is too long: 514 bytes, where 512 bytes are allowed.'],
    [
      'a\nb',
      '"a\\nb" has a line break or another control character: put values in by a template or the lockKey`…` tag',
    ],
    ['a\u2028b', '"a\\u2028b" has a line break'],
    ['a\x9bb', '"a\\u009bb" has a line break or another control character'],
    ['a\ud800', '"a\\ud800" has half of a surrogate pair'],
    ['a}b', "has a '}' before its first '{'"],
    ['}{a}', "has a '}' before its first '{'"],
    ['{a}', 'is in braces as a whole'],
    [' ', "is blank: write a string, such as 'stock:42'."],
    ['\u00a0 ', 'is blank'],
    ['stock:#{#sku}', "has a '#{' of a template, which only decorators read: write lockKey`stock:${sku}`"],
    ['{}', 'is in braces as a whole'],
    ['{a{b}', 'is in braces as a whole'],
    ['{a{}b}', 'is in braces as a whole'],
    ['{{a}}', 'is in braces as a whole'],
  ])('refuses %p', (key, message) => {
    expect(refusalOf(() => assertKey(key))).toContain(message);
  });
});
