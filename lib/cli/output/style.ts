import type { WriteStream } from 'node:tty';

/** The meanings of texts, and the codes with which a terminal begins and ends each look. */
const CODES = { strong: [1, 22], dim: [2, 22], good: [32, 39], warning: [33, 39], bad: [31, 39] } as const;

/** How a text of each meaning looks. */
export type Style = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

const styleOf = (look: (text: string, codes: readonly [begin: number, end: number]) => string): Style =>
  Object.fromEntries(
    Object.entries(CODES).map(([name, codes]) => [name, (text: string) => look(text, codes)]),
  ) as Style;

const COLORED = styleOf((text, [begin, end]) => `\u001b[${begin}m${text}\u001b[${end}m`);
export const PLAIN = styleOf((text) => text);

/**
 * Uses colours on a terminal only, and never with NO_COLOR (https://no-color.org). FORCE_COLOR turns them on anywhere.
 */
export function styleFor(stream: Pick<WriteStream, 'isTTY'>, wanted: boolean, env: NodeJS.ProcessEnv): Style {
  if (!wanted || isSet(env['NO_COLOR'])) return PLAIN;
  if (isSet(env['FORCE_COLOR'])) return env['FORCE_COLOR'] === '0' ? PLAIN : COLORED;
  return stream.isTTY && env['TERM'] !== 'dumb' ? COLORED : PLAIN;
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '';
