import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/**
 * The pages are files of a repository first, whose links lead to files beside them. On the site a link to a page becomes its
 * address, and one to anything else in the repository becomes its path, to look at there. A link that leads nowhere stops
 * the build.
 *
 * @param root the repository
 * @param addressOf the address of a file of the repository; `undefined` when it is no page
 */
export function sourceLinks(markdown, { root, addressOf }) {
  markdown.core.ruler.push('source-links', ({ tokens, env }) => {
    for (const { children } of tokens) {
      const open = [];
      for (const token of children ?? []) {
        if (token.type === 'link_open') open.push(rewrite(token, env.realPath ?? env.path));
        if (token.type === 'link_close' && open.pop())
          Object.assign(token, { type: 'html_inline', content: '</span>' });
      }
    }
  });

  /** Answers whether the link has become a text. */
  function rewrite(token, page) {
    const href = token.attrGet('href');
    if (/^([a-z]+:|#|\/)/i.test(href)) return false;
    const [path, anchor] = href.split('#');
    const file = relative(root, resolve(dirname(page), decodeURIComponent(path)));
    // The reference is made with links between its own pages, which VitePress looks at.
    if (file.startsWith(join('docs', 'api'))) return false;
    const address = addressOf(file);
    if (address !== undefined) {
      token.attrSet('href', anchor === undefined ? address : `${address}#${anchor}`);
      return false;
    }
    if (!existsSync(join(root, file))) throw new Error(`${relative(root, page)}: the link ${href} leads nowhere`);
    Object.assign(token, {
      type: 'html_inline',
      content: `<span class="in-repository" title="In the repository: ${file}">`,
    });
    return true;
  }
}
