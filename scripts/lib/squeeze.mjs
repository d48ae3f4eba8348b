import { minifySync } from '@swc/core';
import { parse } from 'acorn';

/**
 * A script without its comments and blanks, with short names of local variables. The names of functions and classes stay,
 * and each statement has a line, so a stack trace still says where an error comes from. Template literals stay to the
 * letter.
 */
export function squeeze(source, sourceType) {
  const shebang = /^#!.*\n/.exec(source)?.[0] ?? '';
  const { code } = minifySync(source.slice(shebang.length), {
    module: sourceType === 'module',
    compress: false,
    mangle: { toplevel: false, keep_classnames: true, keep_fnames: true },
    format: { comments: false },
  });
  return `${shebang}${inLines(code, sourceType)}\n`;
}

/** Begins a line behind each semicolon and brace, where a line break never changes what a script means. */
function inLines(code, sourceType) {
  let lines = '';
  let end = 0;
  const onToken = ({ type: { label }, end: next }) => {
    if (label !== ';' && label !== '{') return;
    lines += `${code.slice(end, next)}\n`;
    end = next;
  };
  parse(code, { ecmaVersion: 'latest', sourceType, onToken });
  return (lines + code.slice(end)).trim();
}
