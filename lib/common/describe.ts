import { withoutSecret } from './credentials.js';

/** How much of a value, a key or an expression is printed in a message. */
const PRINTED = 60;

/** For messages: quoted, cut, without a login, and with everything escaped that could break a log line or disguise its text. */
export function quote(written: string): string {
  const text = withoutSecret(written);
  return `${printable(JSON.stringify(text.slice(0, PRINTED)))}${text.length > PRINTED ? '…' : ''}`;
}

/** For messages: the developer's own text on one line, cut. */
export function oneLine(source: string): string {
  const line = printable(withoutSecret(source).trim().replace(/\s+/g, ' '));
  return line.length > PRINTED ? `${line.slice(0, PRINTED)}…` : line;
}

/** For messages: what a value is, without running anything of it. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value === '' ? 'an empty string' : `a string of ${value.length} characters`;
    case 'symbol':
    case 'function':
      return `a ${typeof value}`;
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'an array' : describeObject(value);
    case 'number':
      return Number.isFinite(value) ? 'a number' : String(value);
    case 'undefined':
      return 'undefined';
    default:
      return `a ${typeof value}`;
  }
}

function describeObject(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return 'an object';
  // By descriptors: a getter must not run only to make a message prettier.
  const type: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  const name: unknown = typeof type === 'function' && Object.getOwnPropertyDescriptor(type, 'name')?.value;
  return typeof name === 'string' && name !== '' ? `an object (${oneLine(name)})` : 'an object';
}

/** Controls, format characters (such as text direction), line separators, and halves of a surrogate pair. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** For messages: text that stays on its line and looks like what it is. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (char) =>
    Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );
