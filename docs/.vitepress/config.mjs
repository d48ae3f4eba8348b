import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { plainPages } from './plain-pages.mjs';
import { addressOf, chapters, rewrites, ROOT } from './pages.mjs';
import { sourceLinks } from './source-links.mjs';

// Made by TypeDoc, before the site: see scripts/docs.mjs.
const api = JSON.parse(readFileSync(new URL('../api/typedoc-sidebar.json', import.meta.url), 'utf8'));

export default defineConfig({
  title: 'nestjs-redis-locks',
  description: 'Distributed locks for NestJS on Redis',
  lang: 'en-GB',
  // Pages come from all over the repository; pages.mjs says which.
  srcDir: '..',
  srcExclude: ['**/node_modules/**', 'dist/**', 'test/**', 'lib/**', 'lua/**', 'lab/chaos/results/**'],
  rewrites,
  cleanUrls: true,
  lastUpdated: false,
  buildEnd: ({ outDir }) => plainPages(outDir),
  markdown: {
    anchor: { slugify: githubAnchor },
    config: (markdown) => sourceLinks(markdown, { root: ROOT, addressOf }),
  },
  vite: { publicDir: join(ROOT, 'docs/public'), plugins: [modulesForPages()] },
  themeConfig: {
    logo: '/logo.svg',
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Options', link: '/options' },
      { text: 'API reference', link: '/api/' },
      { text: 'Contributing', link: '/contributing' },
    ],
    sidebar: {
      '/': chapters,
      '/api/': [{ text: 'API', link: '/api/', items: api }],
    },
    footer: { message: 'MIT licence' },
  },
});

/** The pages are read in the repository as well, with the same links. */
function githubAnchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** Pages outside of docs/ become modules that import Vue, and would not find it where they are. */
function modulesForPages() {
  const here = join(ROOT, 'docs/index.md');
  return {
    name: 'modules-for-pages',
    enforce: 'pre',
    resolveId(source, importer, options) {
      const isPage = importer?.split('?')[0].endsWith('.md') && !importer.startsWith(join(ROOT, 'docs/'));
      return isPage && /^vue(\/|$)/.test(source)
        ? this.resolve(source, here, { ...options, skipSelf: true })
        : undefined;
    },
  };
}
