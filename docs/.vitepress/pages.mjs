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
  'lab/chaos/README.md': 'chaos.md',
  'lab/chaos/recovery.md': 'recovery.md',
  'lab/simulation/README.md': 'simulation.md',
  'lab/model/README.md': 'model.md',
  'lab/mutations/README.md': 'mutations.md',
  'lab/mutations/results.md': 'mutation-results.md',
  'bench/details.md': 'bench/details.md',
  'lab/drill/transcript.md': 'transcript.md',
};

/** Where each page of the site comes from, for VitePress. */
export const rewrites = { ...ELSEWHERE, 'docs/:page': ':page', 'docs/api/:path*': 'api/:path*' };

/** The address of a file of the repository; `undefined` when it is no page. */
export function addressOf(file) {
  if (!existsSync(join(ROOT, file))) return undefined;
  const page = ELSEWHERE[file] ?? /^docs\/([^/]+\.md)$/.exec(file)?.[1];
  return page === undefined ? undefined : `/${page.replace(/(index)?\.md$/, '')}`;
}

/**
 * The sidebar in reading order. Pages for contributors (Design, Performance, Verification and the laboratories) are not in
 * it: Contributing leads to them.
 */
const CHAPTERS = {
  Start: [
    ['README', 'README.md'],
    ['Quick start', 'docs/quick-start.md'],
    ['Concepts', 'docs/concepts.md'],
  ],
  Guides: [
    ['Configuration', 'docs/configuration.md'],
    ['Cron jobs', 'docs/cron-jobs.md'],
    ['Requests and errors', 'docs/requests.md'],
    ['Transactions', 'docs/transactions.md'],
    ['Kinds of lock', 'docs/lock-types.md'],
    ['Testing', 'docs/testing.md'],
    ['Recipes', 'docs/recipes.md'],
  ],
  Production: [
    ['Deploy checklist', 'docs/deploy.md'],
    ['Failover', 'docs/failover.md'],
    ['A stuck key', 'docs/stuck-key.md'],
    ['Errors and events', 'docs/errors.md'],
    ['CLI', 'docs/cli.md'],
    ['Dashboard', 'docs/dashboard.md'],
    ['Metrics and logs', 'docs/metrics.md'],
    ['Servers and versions', 'docs/servers.md'],
  ],
  Reference: [
    ['Options', 'docs/options.md'],
    ['Exports', 'docs/api.md'],
    ['Key templates', 'docs/templates.md'],
  ],
  Switching: [
    ['Comparison', 'docs/comparison.md'],
    ['Migration', 'docs/migration.md'],
    ['Redisson side by side', 'docs/redisson.md'],
  ],
};

/** The pages of the sidebar, by chapter: their titles and their files. */
export const sources = Object.entries(CHAPTERS).map(([chapter, pages]) => ({
  chapter,
  pages: pages.map(([title, file]) => ({ title, file })),
}));

/** The sidebar of everything but the API reference, which the navigation leads to. */
export const chapters = sources.map(({ chapter, pages }) => ({
  text: chapter,
  items: pages.map(({ title, file }) => ({ text: title, link: addressOf(file) })),
}));
