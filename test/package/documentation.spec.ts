import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { register } from 'prom-client';
import { complaintsAbout, examplesOf, PAGES, QUOTED, read, ROOT, runExample } from './documentation.js';
import { enterWorld } from './documentation-world.js';
import { startRedis, type RedisServer } from '../../testbed/servers/redis-server.mjs';

const EXAMPLES = PAGES.flatMap(examplesOf);

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));

describe('the documentation', () => {
  it('has only examples that compile', () => {
    expect(EXAMPLES.length).toBeGreaterThan(60);
    expect(complaintsAbout(EXAMPLES)).toEqual([]);
  });

  it('quotes the files that it names exactly', () => {
    const words = (text: string): string => text.replace(/\s+/g, ' ').trim();
    const quotations = PAGES.flatMap((page) => [...read(page).matchAll(QUOTED)]);
    expect(quotations.length).toBeGreaterThanOrEqual(4);
    for (const [, file, text] of quotations) expect(words(read(file!))).toContain(words(text!));
  });

  it.each(PAGES)('has no dead link in %s', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
    const broken = links.filter(([, path, anchor]) => {
      const target = path === '' ? page : join(dirname(page), path!);
      return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  describe('has examples that run', () => {
    let redis: RedisServer;
    let leaveWorld: () => Promise<void>;

    beforeAll(async () => {
      redis = await startRedis();
      leaveWorld = await enterWorld(redis.url);
      jest.spyOn(console, 'log').mockImplementation(() => undefined);
    });
    afterEach(async () => {
      register.clear(); // of prom-client, which takes no metric twice
      await redis.admin.flushall();
    });
    afterAll(async () => {
      jest.restoreAllMocks();
      await leaveWorld();
      await redis.stop();
    });

    it.each(EXAMPLES.map((example) => [`${example.page}:${example.line}`, example] as const))('%s', (_place, example) =>
      runExample(example),
    );
  });
});
