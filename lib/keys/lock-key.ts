import { LockKeyError } from '../errors/index.js';
import { describe, quote } from '../common/describe.js';

/** The longest key, in bytes of UTF-8. */
export const MAX_KEY_BYTES = 512;

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
/** Control characters and line separators. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
const HALF_SURROGATE = /\p{Cs}/u;

const EXAMPLE = "write a string, such as 'stock:42'";
const BRACES_OF_REDISSON = 'For a lock of Redisson with this name, return it from redisson({ nameMapper })';
const ENCODE = 'put values in by a template or the lockKey`…` tag, which encode them';

/**
 * Checks a key, as the service and `key` functions take it, and returns it. A key is a string of at most 512 bytes that is
 * not blank and has no control characters. Braces mark a Redis Cluster hash tag, as in `order:{42}:pay`. A template for a
 * decorator is refused: all calls would share one lock.
 * @throws LockKeyError, which says what is wrong with the key
 */
export function assertKey(key: unknown): string {
  if (typeof key !== 'string') {
    throw new LockKeyError(`A lock key must be a string; this one is ${describe(key)}: ${EXAMPLE}.`);
  }
  const fault = keyFault(key);
  if (fault !== undefined) {
    const example = key.trim() === '' ? `: ${EXAMPLE}` : '';
    throw new LockKeyError(`The lock key ${quote(key)} ${fault}${example}.`);
  }
  return key;
}

/** What is wrong with a key, as the rest of a sentence that begins with the key; `undefined`: nothing is wrong. */
export function keyFault(key: string): string | undefined {
  if (key.length <= MAX_KEY_BYTES && isPlain(key)) return undefined;
  if (key === '') return 'is empty';
  if (key.trim() === '') return 'is blank';
  // With too many characters there are too many bytes.
  const size = key.length > MAX_KEY_BYTES ? `${key.length} characters` : `${Buffer.byteLength(key)} bytes`;
  if (Number.parseInt(size) > MAX_KEY_BYTES) return `is too long: ${size}, where ${MAX_KEY_BYTES} bytes are allowed`;
  if (CONTROL.test(key)) return `has a line break or another control character: ${ENCODE}`;
  if (HALF_SURROGATE.test(key)) return `has half of a surrogate pair, which is no text: ${ENCODE}`;
  if (key.includes('#{')) return "has a '#{' of a template, which only decorators read: write lockKey`stock:${sku}`";
  return braceFault(key);
}

/**
 * Whether a key has the form of nearly every key: printable ASCII without braces, one byte for each character, and no blank
 * at its start. Not a regular expression: that takes longer, and every call checks its key.
 */
function isPlain(key: string): boolean {
  for (let i = 0; i < key.length; i += 1) {
    const code = key.charCodeAt(i);
    const isPrintable = code >= 0x20 && code < 0x7f;
    if (!isPrintable || code === OPENING_BRACE || code === CLOSING_BRACE) return false;
  }
  return key !== '' && !key.startsWith(' ');
}

/*
 * Redis Cluster hashes the text between the first `{` and the next `}`, unless that is empty. A key with such a tag is used as
 * it is; any other key is put in braces (`tagged`). The two never collide: a key that is another key in braces is
 * refused, and no key closes a brace before it opens one.
 */
function braceFault(key: string): string | undefined {
  if (closesBeforeOpening(key)) {
    return `has a '}' before its first '{', so that it would end the hash tag of Redis Cluster: ${ENCODE}. ${BRACES_OF_REDISSON}`;
  }
  if (key.startsWith('{') && key.endsWith('}') && !closesBeforeOpening(key.slice(1, -1))) {
    return (
      "is in braces as a whole: leave them out, or write text beside them, such as 'order:{42}'. " + BRACES_OF_REDISSON
    );
  }
  return undefined;
}

function closesBeforeOpening(text: string): boolean {
  const close = text.indexOf('}');
  if (close === -1) return false;
  const open = text.indexOf('{');
  return open === -1 || close < open;
}

/** The part of a key that decides its slot: the text in its first braces, or the whole key without such text. */
export function hashTag(name: string): string {
  const open = name.indexOf('{');
  const close = open === -1 ? -1 : name.indexOf('}', open);
  return close > open + 1 ? name.slice(open + 1, close) : name;
}

/** The form of a key in all names that contain it. Most keys have no brace, and so no tag. */
export const tagged = (key: string): string => (key.includes('{') && hashTag(key) !== key ? key : `{${key}}`);

/** The values that a key may contain. Strings are not empty, numbers are finite. */
export type KeyPart = string | number | bigint | boolean;

/** `%`, the separator `:`, the braces of hash tags, white space, control characters, halves of surrogate pairs. */
const SPECIAL = /[%:{}\s\p{Cc}\p{Cs}]/u;
const SPECIALS = new RegExp(SPECIAL, 'gu');

/**
 * Percent-encodes characters that could make one value look like two, choose a Redis Cluster slot or break a line: `%`, `:`,
 * `{`, `}`, white space and control characters. Different values stay different, and other text stays as it is.
 */
export const encodeKeyPart = (value: KeyPart): string => String(value).replace(SPECIALS, percentEncode);

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
      if (value === '' || value.length > MAX_KEY_BYTES) return undefined;
      return SPECIAL.test(value) ? encodeKeyPart(value) : value;
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
  values.forEach((value: unknown, i) => {
    const encoded = encodeValue(value);
    if (encoded === undefined)
      throw new LockKeyError(`lockKey: value ${i + 1}, after ${quote(key)}, ${refusal(value)}.`);
    key += encoded + (text[i + 1] ?? '');
  });
  return assertKey(key);
}
