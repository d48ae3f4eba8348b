import { describe, expect, it } from '@jest/globals';
import { squeeze } from '../../../scripts/lib/squeeze.mjs';

const squeezed = (source: string): string => squeeze(source, 'module');

describe('a squeezed script', () => {
  it('has no comments and blanks, short names of local variables, and a line for each statement', () => {
    expect(
      squeezed('/** Why. */\nfunction work(first) {\n\n    // note\n    first();\n    return first; // end\n}\n'),
    ).toBe('function work(n){\nn();\nreturn n}\n');
  });

  it('keeps the names of functions, classes, properties and of the top level', () => {
    const names = squeezed(
      'const top = 1; export class Lock { held = top; #own = 2; release(lease) { return this.#own; } }',
    );
    for (const name of ['top', 'Lock', 'held', 'release']) expect(names).toContain(name);
    expect(names).not.toContain('lease');
  });

  it('keeps template literals to the letter', () => {
    const text = '`  one\n    // two\n\n  ${b}  three ${c}; {\n`';
    expect(squeezed(`const a = ${text};\n`)).toBe(`const a=${text};\n`);
  });

  it('keeps strings and regular expressions that look like comments', () => {
    const made = squeezed("const a = '/* a */  //', b = /\\/\\*  [/*]/g;\n");
    for (const text of ['/* a */  //', '/\\/\\*  [/*]/g']) expect(made).toContain(text);
  });

  it('keeps the line that names the program', () => {
    expect(squeezed('#!/usr/bin/env node\n// note\na();\n')).toBe('#!/usr/bin/env node\na();\n');
  });
});
