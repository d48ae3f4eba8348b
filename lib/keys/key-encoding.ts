import { LockKeyError } from '../errors/index.js';
import { assertKey, MAX_KEY_BYTES } from './lock-key.js';
import { describe, quote } from '../common/describe.js';

/** The values that a key may contain. Strings are not empty, numbers are finite. */
export type KeyPart = string | number | bigint | boolean;

/** `%`, the separator `:`, the braces of hash tags, white space, control characters, halves of surrogate pairs. */
const SPECIAL = /[%:{}\s\p{Cc}\p{Cs}]/u;
const SPECIALS = new RegExp(SPECIAL, 'gu');

/**
 * Percent-encodes characters that could make one value look like two, choose a Redis Cluster slot or break a line: `%`, `:`,
 * `{`, `}`, white space and control characters. Different values stay different, and other text stays as it is.
 */
export function encodeKeyPart(value: KeyPart): string {
  const text = String(value);
  return SPECIAL.test(text) ? text.replace(SPECIALS, percentEncode) : text;
}

/**
 * The UTF-8 bytes of one special character, at most U+FFFF. Written by hand, because `encodeURIComponent` throws at half of a
 * surrogate pair, and `TextEncoder` turns all of them into U+FFFD.
 */
function percentEncode(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x80) return hex(code);
  if (code < 0x800) return hex(0xc0 | (code >> 6)) + hex(0x80 | (code & 0x3f));
  return hex(0xe0 | (code >> 12)) + hex(0x80 | ((code >> 6) & 0x3f)) + hex(0x80 | (code & 0x3f));
}

const hex = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;

/** Encodes a value for a key; `undefined` if a key cannot contain it (see `refusal`). */
export function encodeValue(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value === '' || value.length > MAX_KEY_BYTES ? undefined : encodeKeyPart(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined;
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return undefined;
  }
}

/** Why `encodeValue` refused a value, as the rest of a sentence that begins with its name. */
export function refusal(value: unknown): string {
  const what = describe(value);
  if (typeof value === 'string' && value !== '') return `is ${what}; a key has at most ${MAX_KEY_BYTES} bytes`;
  if ((typeof value === 'object' && value !== null) || typeof value === 'function' || typeof value === 'symbol') {
    return `is ${what}; name a property that is a string or a number, or give a function as key`;
  }
  return `is ${what}; a value in a key must be a non-empty string, a finite number, a bigint or a boolean`;
}

/**
 * Builds a key in code as a template does: checks and encodes the values, and keeps the text around them.
 *
 * ```ts
 * await locks.run(lockKey`import:${date}`, …)  // the same key as the template 'import:#{#date}'
 * ```
 * @throws LockKeyError for a value that a key cannot contain (`undefined`, `null`, `''`, an object), for a key that is empty,
 * longer than 512 bytes or has control characters, and if it is called as a function
 */
export function lockKey(text: TemplateStringsArray, ...values: KeyPart[]): string {
  if (!Array.isArray((text as Partial<TemplateStringsArray> | undefined)?.raw)) {
    throw new LockKeyError('lockKey is a tag, not a function: write lockKey`stock:${sku}`, without parentheses.');
  }
  let key = text[0] ?? '';
  values.forEach((value, i) => {
    key += encodeTagged(value, i, key) + (text[i + 1] ?? '');
  });
  return assertKey(key);
}

function encodeTagged(value: unknown, index: number, before: string): string {
  let problem: string;
  let cause: unknown;
  try {
    const encoded = encodeValue(value);
    if (encoded !== undefined) return encoded;
    problem = refusal(value);
  } catch (error) {
    problem = 'could not be read';
    cause = error;
  }
  throw new LockKeyError(`lockKey: value ${index + 1}, after ${quote(before)}, ${problem}.`, { cause });
}
