import { parse } from 'acorn';
import { minify_sync as minify } from 'terser';

/**
 * A script without its comments, blanks and dead code, with short names of variables. The names of functions and classes
 * stay, no function moves into another one, and each statement has a line, so a stack trace still says where an error
 * comes from. The texts of template literals stay.
 */
export function squeeze(script, sourceType) {
  const names = { keep_classnames: true, keep_fnames: true };
  return shorten(script, sourceType, {
    compress: { ...names, inline: 0, keep_fargs: true, reduce_funcs: false },
    mangle: { ...names, reserved: (body) => namedByVariable(body, sourceType) },
  });
}

/** The script of a program or a page, whose functions no other code calls: no name in it has to stay. */
export const squeezeProgram = (script) => shorten(script, 'module', { compress: {}, mangle: {} });

function shorten(source, sourceType, { compress, mangle }) {
  const shebang = /^#!.*\n/.exec(source)?.[0] ?? '';
  const script = source.slice(shebang.length);
  const { code } = minify(script, {
    ecma: 2022,
    module: sourceType === 'module',
    compress: { passes: 2, sequences: false, toplevel: true, ...compress },
    mangle: { toplevel: true, ...mangle, reserved: mangle.reserved?.(script) ?? [] },
    format: { comments: false },
  });
  return `${shebang}${inLines(code, sourceType)}\n`;
}

/** Functions and classes that have the name of their variable: `const one = () => …`. */
function namedByVariable(script, sourceType) {
  const { body } = parse(script, { ecmaVersion: 'latest', sourceType });
  return body
    .map((node) => node.declaration ?? node)
    .filter(({ type }) => type === 'VariableDeclaration')
    .flatMap(({ declarations }) => declarations)
    .filter(({ init }) => /Function|Class/.test(init?.type))
    .map(({ id }) => id.name);
}

/** Statements that end with a semicolon of their own, not with one of a statement in them. */
const SIMPLE = /^(?:Expression|Return|Throw|Break|Continue)Statement$|^VariableDeclaration$|^(?:Im|Ex)port/;
/** With these a line can go on with the statement of the line before. */
const GOES_ON = /[([`+\-/]/;

/**
 * Writes a line break for each semicolon between two statements. Terser can do so itself, but also behind a field of a class
 * that is named `get`, which becomes an accessor then (5.51).
 */
function inLines(code, sourceType) {
  const characters = code.split('');
  for (const list of statementLists(parse(code, { ecmaVersion: 'latest', sourceType }))) {
    for (const { type, end } of list) {
      if (SIMPLE.test(type) && code[end - 1] === ';' && !GOES_ON.test(code[end] ?? '')) characters[end - 1] = '\n';
    }
  }
  return characters.join('').trim();
}

/** The statements of a script, of each function, and of each block. */
function* statementLists(node) {
  if (node === null || typeof node !== 'object') return;
  const { type, body, consequent } = node;
  if (Array.isArray(body) && type !== 'ClassBody') yield body;
  if (type === 'SwitchCase') yield consequent;
  for (const child of Object.values(node)) yield* statementLists(child);
}
