import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { jest } from '@jest/globals';
import { register } from 'prom-client';
import type { LockService } from 'nestjs-redis-locks';
import { createLockClient } from 'nestjs-redis-locks/client';
import { LOSS_REASONS } from '../../lib/errors/index.js';
import { stable } from '../../lab/drill/guide.mjs';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { ROOT } from '../wrong-usages/compile.js';
import { callable, complaintsAbout, filesOf, PAGES, QUOTED, read, runPage, testPage } from './documentation.js';

const FILES = PAGES.flatMap(filesOf);
const PAGES_WITH_FILES = PAGES.filter((page) => filesOf(page).length > 0);
const SILENT = { log() {}, warn() {}, error() {}, debug() {}, verbose() {}, fatal() {} };

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));

describe('the documentation', () => {
  it('names each file that it shows, once for each page', () => {
    const unnamed = FILES.filter(({ name }) => name === '').map(({ page, line }) => `${page}:${line}`);
    expect(unnamed).toEqual([]);
    for (const page of PAGES_WITH_FILES) {
      const names = filesOf(page).map(({ name }) => name);
      expect([page, names]).toEqual([page, [...new Set(names)]]);
    }
  });

  it('has only files that compile by themselves', () => {
    expect(FILES.length).toBeGreaterThan(40);
    expect(complaintsAbout(FILES)).toEqual([]);
  });

  it('shows no code that a reader should not copy', () => {
    const bad = [/currentLock\(\)!/, /new Map/, /#headers/];
    const shown = FILES.filter(({ name, code }) => !name.endsWith('.spec.ts') && bad.some((each) => each.test(code)));
    expect(shown.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
    const expects = FILES.filter(({ name, code }) => !name.endsWith('.spec.ts') && /\bexpect\(/.test(code));
    expect(expects.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  });

  it('quotes the files that it names exactly', () => {
    const words = (text: string): string => text.replace(/\s+/g, ' ').trim();
    const quotations = PAGES.flatMap((page) => [...read(page).matchAll(QUOTED)]);
    expect(quotations.length).toBeGreaterThanOrEqual(3);
    for (const [, file, text] of quotations) expect(words(read(file!))).toContain(words(text!));
  });

  it('says what to do about each alert', () => {
    const names = [...read('docs/alert-rules.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    const rows = [...read('docs/deploy.md').matchAll(/^\| (`Lock.*?) \| \w/gm)];
    const told = rows.flatMap(([, alerts]) => [...alerts!.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(told.sort()).toEqual(names.sort());
  });

  it('explains each reason of a loss', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| `([a-z-]+)` \| ([^|]+) \|/gm)];
    expect(Object.fromEntries(rows.map(([, word, text]) => [word, text]))).toMatchObject(LOSS_REASONS);
  });

  it('quotes outputs as the drill has seen them', () => {
    const transcript = stable(read('lab/drill/transcript.md'));
    const outputs = PAGES.flatMap((page) =>
      [...read(page).matchAll(/^```console\n.*?^```$/gms)].map(([block]) => block),
    );
    expect(outputs).not.toEqual([]);
    for (const output of outputs) expect(transcript).toContain(stable(output));
  });

  it.each(PAGES)('has no dead link in %s', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
    const broken = links.filter(([, path, anchor]) => {
      const target = path === '' ? page : join(dirname(page), path!);
      return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  describe('shows code that runs', () => {
    let redis: RedisServer;
    let locks: LockService & { close(): Promise<void> };

    beforeAll(async () => {
      redis = await startRedis();
      // Renewals must be visible within a second or two.
      const options = { connection: redis.url, renewedLease: '1s', shutdownTimeout: 0 } as const;
      locks = await createLockClient(options, { logger: SILENT });
      jest.spyOn(console, 'log').mockImplementation(() => undefined);
    });
    afterEach(async () => {
      register.clear(); // of prom-client, which takes no metric twice
      await redis.admin.flushall();
    });
    afterAll(async () => {
      jest.restoreAllMocks();
      await locks.close();
      await redis.stop();
    });

    it.each(PAGES_WITH_FILES)('%s', async (page) => {
      const files = filesOf(page);
      const exports = await runPage(files, redis.url);
      for (const file of files) for (const call of callable(file, exports.get(file.name) ?? {})) await call(locks);
      const root = exports.get('app.module.ts')?.['AppModule'];
      if (root === undefined) return;
      const compiled = await Test.createTestingModule({ imports: [root as Type] })
        .setLogger(SILENT)
        .compile();
      const app = await compiled.createNestApplication({ logger: false }).init();
      await app.close();
    });

    const pagesWithSpecs = PAGES_WITH_FILES.filter((page) =>
      filesOf(page).some(({ name }) => /\.spec\.ts$/.test(name)),
    );
    it.each(pagesWithSpecs)('%s, with the default limits of Jest', async (page) => {
      expect(await testPage(filesOf(page))).toMatch(/Tests: .* passed/);
    });
  });
});
