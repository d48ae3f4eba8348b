import { parse } from 'acorn';

/**
 * A script without its comments, blank lines and indentation. Lines and names stay, so a stack trace still says where
 * an error comes from. Template literals stay to the letter.
 */
export function squeeze(source, sourceType) {
  const tokens = [];
  parse(source, { ecmaVersion: 'latest', sourceType, onToken: tokens, allowHashBang: true });
  let squeezed = source.startsWith('#!') ? source.slice(0, source.indexOf('\n')) : '';
  let end = squeezed.length;
  for (const { start, end: next } of tokens) {
    squeezed += squeezeGap(source.slice(end, start)) + source.slice(start, next);
    end = next;
  }
  return `${squeezed.trim()}\n`;
}

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;

function squeezeGap(gap) {
  if (gap.includes('\n')) return '\n';
  return gap.replace(COMMENT, ' ').replace(/ +/g, ' ');
}
