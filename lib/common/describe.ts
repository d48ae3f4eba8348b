import { types } from 'node:util';
import { withoutSecret } from './credentials.js';
import { isClass, isError } from './type-guards.js';

/** How many characters of a value, a key or an expression a message contains. */
const PRINTED = 60;

/** For messages: quotes and cuts a text, removes logins, and escapes what could break a log line or disguise its text. */
export function quote(written: string): string {
  const text = withoutSecret(written);
  return `${printable(JSON.stringify(text.slice(0, PRINTED)))}${text.length > PRINTED ? '…' : ''}`;
}

/** For messages: puts source text of the developer on one line, and cuts it. */
export function oneLine(source: string): string {
  const text = withoutSecret(source).trim().replace(/\s+/g, ' ');
  const line = printable(text.slice(0, PRINTED + 1));
  return line.length > PRINTED ? `${line.slice(0, PRINTED)}…` : line;
}

/** For messages: the first texts of a list, and how many more there are. */
export const listed = (texts: readonly string[], most: number): string =>
  `${texts.slice(0, most).join(', ')}${texts.length > most ? ` and ${texts.length - most} more` : ''}`;

/** For messages: `a, b or c`. */
export const alternatives = (texts: readonly string[]): string => ALTERNATIVES.format(texts);
const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** How many keys of one call a message names. */
const KEYS_NAMED = 5;

/** For messages: the first keys of a call, and how many more it has. */
export const namesOfKeys = (keys: readonly string[]): string =>
  listed(
    keys.map((key) => `'${key}'`),
    KEYS_NAMED,
  );

/** For messages: says what a value is, without running its code, except for traps of a proxy. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value === '' ? 'an empty string' : `a string of ${value.length} characters`;
    case 'function':
      return types.isAsyncFunction(value) ? 'an async function' : isClass(value) ? 'a class' : 'a function';
    case 'object':
      return value === null ? 'null' : describeObject(value);
    case 'number':
      return Number.isFinite(value) ? 'a number' : String(value);
    case 'undefined':
      return 'undefined';
    default:
      return `a ${typeof value}`;
  }
}

/**
 * The message of a thrown value, even if it is no error or cannot be turned into a text. An AggregateError without a message
 * gets those of its errors.
 */
export function messageOf(thrown: unknown): string {
  try {
    if (!isError(thrown)) return String(thrown);
    const { message, name, errors, code } = thrown as Error & { readonly errors?: unknown; readonly code?: unknown };
    if (message !== '') return String(message);
    const within = Array.isArray(errors) ? errors.map(messageOf).join('; ') : '';
    return within || (typeof code === 'string' ? code : name);
  } catch {
    return describe(thrown);
  }
}

/** For comparing messages: numbers such as the duration of an outage differ in each message of one failure. */
export const withoutNumbers = (message: string): string => message.replaceAll(/\d+/g, '#');

function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null || prototype === Object.prototype) return 'an object';
    // Read descriptors: a message must not run a getter.
    const type: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    const name: unknown = typeof type === 'function' && Object.getOwnPropertyDescriptor(type, 'name')?.value;
    return typeof name === 'string' && name !== '' ? `an object (${oneLine(name)})` : 'an object';
  } catch {
    return 'an object'; // a proxy that throws
  }
}

/** Controls, format characters (such as text direction), line separators, and halves of a surrogate pair. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** For messages: escapes characters that could break a line or disguise its text. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (char) =>
    Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );
