import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Pages that are not in `docs/`: their files in the repository, and their addresses on the site. */
const ELSEWHERE = {
  'README.md': 'readme.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'examples/README.md': 'examples/index.md',
  'examples/fencing-postgres/README.md': 'examples/fencing-postgres.md',
  'sample-app/README.md': 'sample-app.md',
  'bench/README.md': 'bench/index.md',
  'bench/results/results.md': 'bench/results.md',
  'chaos/README.md': 'chaos.md',
  'reliability/README.md': 'reliability-suite.md',
};

/** Where each page of the site comes from, for VitePress. */
export const rewrites = { ...ELSEWHERE, 'docs/:page': ':page', 'docs/api/:path*': 'api/:path*' };

/** The address of a file of the repository; `undefined` when it is no page. */
export function addressOf(file) {
  if (!existsSync(join(ROOT, file))) return undefined;
  const page = ELSEWHERE[file] ?? /^docs\/([^/]+\.md)$/.exec(file)?.[1];
  return page === undefined ? undefined : `/${page.replace(/(index)?\.md$/, '')}`;
}

/** Chapters in reading order. A page that does not exist is left out. */
const CHAPTERS = {
  'Get started': [
    ['Quick start', 'docs/guide.md'],
    ['Concepts', 'docs/concepts.md'],
    ['Recipes', 'docs/recipes.md'],
    ['FAQ', 'docs/faq.md'],
  ],
  Use: [
    ['Lock types', 'docs/lock-types.md'],
    ['Options', 'docs/options.md'],
    ['Connections', 'docs/connections.md'],
    ['API reference', '/api/'], // TypeDoc makes it
    ['Framework integrations', 'docs/integrations.md'],
    ['Examples', 'examples/README.md'],
    ['Testing', 'docs/testing.md'],
    ['Bundlers', 'docs/bundlers.md'],
  ],
  Switch: [
    ['Comparison', 'docs/comparison.md'],
    ['Migration', 'docs/migration.md'],
    ['Redisson', 'docs/redisson.md'],
  ],
  'In production': [
    ['Operations', 'docs/operations.md'],
    ['Troubleshooting', 'docs/troubleshooting.md'],
    ['CLI', 'docs/cli.md'],
    ['Dashboard', 'docs/dashboard.md'],
    ['Observability', 'docs/observability.md'],
    ['Fencing with PostgreSQL', 'examples/fencing-postgres/README.md'],
    ['Reliability', 'docs/reliability.md'],
    ['Supported versions', 'docs/support.md'],
    ['Security', 'SECURITY.md'],
  ],
  'How it works': [
    ['Design', 'docs/design.md'],
    ['Performance', 'docs/performance.md'],
    ['Performance in detail', 'docs/performance-details.md'],
    ['Benchmarks', 'bench/README.md'],
    ['Benchmark results', 'bench/results/results.md'],
    ['Model', 'docs/model.md'],
    ['Simulation', 'docs/simulation.md'],
    ['Chaos', 'chaos/README.md'],
    ['Reliability suite', 'reliability/README.md'],
  ],
  Project: [
    ['README', 'README.md'],
    ['Sample shop', 'sample-app/README.md'],
    ['Contributing', 'CONTRIBUTING.md'],
    ['Changelog', 'CHANGELOG.md'],
  ],
};

/** The sidebar of everything but the API reference. */
export const chapters = Object.entries(CHAPTERS).map(([text, pages]) => ({
  text,
  items: pages.flatMap(([title, file]) => {
    const link = file.startsWith('/') ? file : addressOf(file);
    return link === undefined ? [] : [{ text: title, link }];
  }),
}));
