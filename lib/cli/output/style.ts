import type { WriteStream } from 'node:tty';

/** The meanings of texts. This file decides how each one looks. */
export interface Style {
  strong(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  warning(text: string): string;
  bad(text: string): string;
}

const code =
  (begin: number, end: number) =>
  (text: string): string =>
    `\u001b[${begin}m${text}\u001b[${end}m`;
const plain = (text: string): string => text;

const COLORED: Style = {
  strong: code(1, 22),
  dim: code(2, 22),
  good: code(32, 39),
  warning: code(33, 39),
  bad: code(31, 39),
};
export const PLAIN: Style = { strong: plain, dim: plain, good: plain, warning: plain, bad: plain };

/**
 * Uses colours on a terminal only, and never with NO_COLOR (https://no-color.org). FORCE_COLOR turns them on anywhere.
 */
export function styleFor(stream: Pick<WriteStream, 'isTTY'>, wanted: boolean, env: NodeJS.ProcessEnv): Style {
  if (!wanted || isSet(env['NO_COLOR'])) return PLAIN;
  if (isSet(env['FORCE_COLOR'])) return env['FORCE_COLOR'] === '0' ? PLAIN : COLORED;
  return stream.isTTY && env['TERM'] !== 'dumb' ? COLORED : PLAIN;
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '';
