import { readFileSync } from 'node:fs';

/**
 * Reads a list of mutations. A heading (`# lua/renew.lua`) names the file that the mutations below it change. Each mutation is
 * a paragraph: its name and what then happens, behind `?` what finds it, behind `-` the code to replace, behind `+` its
 * replacement.
 * @param {URL} url
 * @returns {Array<import('./mutate.mjs').Mutation & { readonly finder: string }>}
 */
export function readMutations(url) {
  let file = '';
  const paragraphs = readFileSync(url, 'utf8')
    .trim()
    .split(/\n{2,}/);
  return paragraphs.flatMap((paragraph) => {
    const [head = '', ...lines] = paragraph.split('\n');
    if (head.startsWith('# ')) {
      file = head.slice(2);
      return [];
    }
    const [name = '', ...what] = head.split(': ');
    const behind = (/** @type {string} */ sign) =>
      lines.flatMap((line) => (line.startsWith(`${sign} `) ? [line.slice(2)] : [])).join('\n');
    return [{ name, what: what.join(': '), file, finder: behind('?'), from: behind('-'), to: behind('+') }];
  });
}
