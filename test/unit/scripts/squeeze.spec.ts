import { describe, expect, it } from '@jest/globals';
import { squeeze } from '../../../scripts/lib/squeeze.mjs';

const squeezed = (source: string): string => squeeze(source, 'module');

describe('a squeezed script', () => {
  it('has no comments, blank lines and indentation', () => {
    expect(squeezed('/** Why. */\nfunction a(b) {\n\n    // note\n    return b; // end\n}\n')).toBe(
      'function a(b) {\nreturn b;\n}\n',
    );
  });

  it('keeps line breaks that end a statement', () => {
    expect(squeezed('let a = 1 /* one\n*/ let b = 2')).toBe('let a = 1\nlet b = 2\n');
  });

  it('keeps template literals to the letter, and what is between their braces', () => {
    const source = 'const a = `  one\n    // two\n\n  ${  b /* c */ }  three ${`  ${d}`}\n`;';
    expect(squeezed(source)).toBe('const a = `  one\n    // two\n\n  ${ b }  three ${`  ${d}`}\n`;\n');
  });

  it('keeps strings and regular expressions that look like comments', () => {
    const source = "const a = '/* a */  //', b = /\\/\\*  [/*]/g;\n";
    expect(squeezed(source)).toBe(source);
  });

  it('does not join words', () => {
    expect(squeezed('return_: typeof/* of */a;')).toBe('return_: typeof a;\n');
  });

  it('keeps the line that names the program', () => {
    expect(squeezed('#!/usr/bin/env node\n// note\na();\n')).toBe('#!/usr/bin/env node\na();\n');
  });
});
