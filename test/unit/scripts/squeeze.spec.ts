import { runInNewContext } from 'node:vm';
import { squeeze } from '../../../scripts/lib/squeeze.mjs';

const squeezed = (source: string): string => squeeze(source, 'module');

describe('a squeezed script', () => {
  it('has no comments, blanks and dead code, short names of variables, and a line for each statement', () => {
    expect(
      squeezed(
        '/** Why. */\nconst most = 3;\nexport function work(first) {\n\n    // note\n    first();\n    return first < most; // end\n}\n',
      ),
    ).toBe('export function work(r){r()\nreturn r<3}\n');
  });

  it('keeps the names of functions, classes and properties, also where they are not exported', () => {
    const names = squeezed(
      `function inner() { return 1; }
      const arrow = (duration) => inner() + duration, Made = class {};
      class Lock { held = [arrow, Made]; #own = 2; release(duration) { return arrow(duration + this.#own); } }
      export { Lock as Renamed };`,
    );
    for (const name of ['inner', 'arrow', 'Made', 'Lock', 'Renamed', 'held', 'release']) {
      expect(names).toMatch(new RegExp(`\\b${name}\\b`));
    }
    expect(names).not.toContain('duration');
  });

  it('keeps parameters that are not used, since Express counts them', () => {
    expect(squeezed('export const handle = (error, request, response, next) => { response.end(); };\n')).toMatch(
      /=\((\w,){3}\w\)=>/,
    );
  });

  it('runs as before where a line break could mean more than a semicolon', () => {
    const script = `
      class Entry { get; static; async; constructor(value) { this.get = value; } *[Symbol.iterator]() { yield this.get; } }
      globalThis.seen = [];
      const note = (value) => { globalThis.seen.push(value); return note; };
      note(1); [2].forEach(note); (() => note(3))(); \`\${note(4)}\`; +note(5); -note(6); /7/.test(note(7));
      for (;;) { note(8); break; }
      if (note(9)) note(10); else note(11);
      switch (12) { case 12: note(12); [13].forEach(note); }
      do note(14); while (false); note([...new Entry(15)][0]);
      globalThis.seen;`;
    const seen = (code: string): number[] => [...(runInNewContext(code) as number[])];
    expect(seen(squeeze(script, 'script'))).toEqual(seen(script));
    expect(seen(script)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15]);
  });

  it('keeps the text of template literals', () => {
    const literal = '`  one\n    // two\n\n  ${b}  three ${c}; {\n`';
    const made = runInNewContext(squeeze(`globalThis.text = (b, c) => ${literal};\ntext('B', 'C');\n`, 'script'));
    expect(made).toBe('  one\n    // two\n\n  B  three C; {\n');
  });

  it.each([
    ['strings that look like comments', "export const a = '/* a */  //';", '"/* a */  //"'],
    ['regular expressions that do', 'export const b = /\\/\\*  [/*]/g;', '/\\/\\*  [/*]/g'],
    ['the line that names the program', '#!/usr/bin/env node\n// note\na();', '#!/usr/bin/env node\na()\n'],
  ])('keeps %s', (_, source, kept) => {
    expect(squeezed(`${source}\n`)).toContain(kept);
  });
});
