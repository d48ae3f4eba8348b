import { readFileSync } from 'node:fs';
import {
  packedManifest,
  repositoryOf,
  requireRepository,
  withAbsoluteLinks,
} from '../../../scripts/lib/repository.mjs';
import { notesOf, unreleasedVersion, withDate } from '../../../scripts/lib/changelog.mjs';

const address = 'https://git.example/owner/name';
const absolute = (markdown: string, page = 'README.md'): string =>
  withAbsoluteLinks(markdown, { page, address, ref: 'v1.2.3' });

describe('the links of a packed page', () => {
  it.each([
    ['[Options](docs/options.md)', `[Options](${address}/blob/v1.2.3/docs/options.md)`],
    ['[Clocks](docs/operations.md#clocks)', `[Clocks](${address}/blob/v1.2.3/docs/operations.md#clocks)`],
    ['[`lock`](./docs/a.md "Title")', `[\`lock\`](${address}/blob/v1.2.3/docs/a.md "Title")`],
    ['[Examples](examples/)', `[Examples](${address}/tree/v1.2.3/examples/)`],
    ['![Waits](bench/results/waits.svg)', `![Waits](${address}/raw/v1.2.3/bench/results/waits.svg)`],
    ['[![CI](ci.svg)](docs/ci.md)', `[![CI](${address}/raw/v1.2.3/ci.svg)](${address}/blob/v1.2.3/docs/ci.md)`],
    ['<img src="docs/a.png" alt="">', `<img src="${address}/raw/v1.2.3/docs/a.png" alt="">`],
    ['[guide]: docs/guide.md', `[guide]: ${address}/blob/v1.2.3/docs/guide.md`],
    ['[README](../README.md)', `[README](${address}/blob/v1.2.3/README.md)`, 'docs/a.md'],
  ])('lead to the repository, from their page: %s', (relative, expected, page = 'README.md') => {
    expect(absolute(relative, page)).toBe(expected);
  });

  it.each([
    '[Nest](https://nestjs.com)',
    '[Fair](#fair)',
    '<a href="mailto:a@b.example">',
    '```ts\nconst [a](b.md) = c;\n```\n',
  ])('stay as they are if they are absolute, within the page, or code: %s', (text) => {
    expect(absolute(text)).toBe(text);
  });

  it('are all absolute in the README of this package', () => {
    const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
    const targets = (text: string): string[] => [...text.matchAll(/\]\(([^)\s#]+)/g)].map(([, target]) => target!);
    expect(targets(readme).filter((target) => !target.startsWith('https:')).length).toBeGreaterThan(5);
    expect(targets(absolute(readme)).filter((target) => !target.startsWith('https:'))).toEqual([]);
  });
});

describe('the address of the repository', () => {
  const repository = { type: 'git', url: `git+${address}.git` };

  it('is that of package.json, as a web page', () => {
    expect(repositoryOf({ repository })).toBe(address);
    expect(repositoryOf({ repository: address })).toBe(address);
    expect(repositoryOf({})).toBeUndefined();
  });

  it('is refused if it is not one', () => {
    expect(() => repositoryOf({ repository: 'owner/name' })).toThrow('"owner/name" is not the address');
  });

  it('is required for a release', () => {
    expect(requireRepository({ repository })).toBe(address);
    expect(() => requireRepository({})).toThrow('package.json has no "repository"');
  });

  it('gives the packed package its home page and bug tracker, and removes what users do not need', () => {
    const manifest = { name: 'a', private: true, scripts: { test: 'x' }, devDependencies: { b: '1' } };
    expect(packedManifest(manifest)).toEqual({ name: 'a' });
    expect(packedManifest({ ...manifest, repository })).toEqual({
      name: 'a',
      repository,
      homepage: `${address}#readme`,
      bugs: `${address}/issues`,
    });
  });
});

const CHANGELOG = `# Changelog

## 0.2.0 - unreleased

### Added

- A thing.

## 0.1.0 - 2026-11-30

- The first.
`;

describe('the changelog', () => {
  it('names the next version until its release, when only that one gets a date', () => {
    expect(unreleasedVersion(CHANGELOG)).toBe('0.2.0');
    const released = withDate(CHANGELOG, '2026-12-24');
    expect(released).toBe(CHANGELOG.replace('unreleased', '2026-12-24'));
    expect(unreleasedVersion(released)).toBeUndefined();
  });

  it.each([
    ['0.2.0', '### Added\n\n- A thing.'],
    ['0.1.0', '- The first.'],
    ['0.3.0', ''],
  ])('has the notes of version %s', (version, notes) => {
    expect(notesOf(CHANGELOG, version)).toBe(notes);
  });
});
