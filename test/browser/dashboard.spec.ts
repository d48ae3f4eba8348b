import { setTimeout as sleep } from 'node:timers/promises';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LockService, type LockHandle } from 'nestjs-redis-locks';
import type { RedisLockRootOptions } from '../../lib/module/redis-lock.options.js';
import type { RedisLockDashboardOptions } from 'nestjs-redis-locks/dashboard';
import { NestBench } from '../integration/nest/support.js';
import { serve, type DashboardServer } from '../integration/dashboard/support.js';
import { aborted, eventually, eventuallyPasses } from '../../lab/testbed/locks/locks.js';
import { accessibilityFaults, clippedTexts } from './accessibility.js';
import { Browser, type Look } from './page.js';

const bench = new NestBench();
const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));
/** A browser takes its time to start. */
const PATIENT = { waitTimeout: '2m' } as const;
/** The height of a phone's screen. */
const PHONE = 844;
const HOSTILE = '<img src=x onerror="document.title=1">\u202Ereversed';

/** The services of three processes, as far as Redis can tell; the first one serves the page. */
async function setUp(
  options: Partial<RedisLockDashboardOptions> = {},
  first: RedisLockRootOptions = {},
  others: readonly RedisLockRootOptions[] = [],
) {
  const server = await serve(bench, { readOnly: false, ...options }, { module: first });
  const own = server.app.get(LockService);
  const [second, third] = await Promise.all(
    [0, 1].map(async (i) => {
      const app = await bench.boot({}, { shutdownTimeout: 0, ...others[i] });
      return app.get(LockService);
    }),
  );
  return { server, own, second: second!, third: third! };
}

async function open(server: DashboardServer, look?: Look) {
  const browser = await Browser.start(look);
  await browser.page.goto(server.url);
  await browser.page.locator('#status[data-state=live]').waitFor();
  return browser;
}

const rowOf = ({ page }: Browser, key: string) =>
  page.locator('#table tbody').filter({ has: page.locator('td.key', { hasText: key }) });
const textsOf = async (browser: Browser, selector: string) =>
  (await browser.page.locator(selector).allInnerTexts()).map((text) => text.trim());

/** Keeps a picture for a person to look at, in the directory that LOCKS_LOOKS names. */
function saveLook(name: string, png: Buffer): void {
  const directory = process.env['LOCKS_LOOKS'];
  if (directory !== undefined) writeFileSync(join(directory, `${name}.png`), png);
}

/** All was well: no complaint in the console, and no request to another host. */
function expectQuiet(browser: Browser, server: DashboardServer): void {
  expect(browser.complaints).toEqual([]);
  expect(browser.hosts).toEqual([new URL(server.url).host]);
}

describe('the dashboard in a browser', () => {
  it('shows holders and waiters, and updates them', async () => {
    const { server, own, second, third } = await setUp();
    await using browser = await open(server);
    await browser.page.getByText('No locks yet').waitFor();
    expect(await browser.page.locator('main section:visible').count()).toBe(1);
    const lock = await own.acquire('stock:42', { owner: 'ann' });
    const first = second.acquire('stock:42', PATIENT);
    await bench.untilWaiting('stock:42', 1);
    const last = third.acquire('stock:42', { owner: 'cid', ...PATIENT });
    await bench.untilWaiting('stock:42', 2);
    const row = rowOf(browser, 'stock:42');
    await row.getByText('2', { exact: true }).waitFor();
    // Three clients of one process may have the same label.
    const client = `client ${own.clientId.slice(0, 8)}`;
    expect(await row.locator('.owner').first().innerText()).toMatch(
      new RegExp(`^ann\\s*.*:${process.pid}( · ${client})?$`),
    );
    const name = row.getByRole('button', { name: 'stock:42', exact: true });
    await name.click();
    await eventuallyPasses(async () =>
      expect(await row.locator('.owner').first().innerText()).toMatch(
        new RegExp(`^ann\\s+.*:${process.pid} · ${client}\\s+connected$`),
      ),
    );
    expect(await row.locator('.age').innerText()).toMatch(/since (\d+ \w+, )?\d\d:\d\d:\d\d$/);
    await name.click();
    await row.getByRole('button', { name: '2 waiting for stock:42' }).click();
    expect(await row.locator('.queue li').count()).toBe(2);
    expect(await row.locator('.queue').innerText()).toContain('cid');
    expect(await row.locator('.queue').innerText()).toMatch(/waiting for \d/);
    expect(await textsOf(browser, '.tile .value')).toEqual(['1', '2', expect.any(String), '0', '0']);
    await lock.release();
    const next = await first;
    await row.getByText(second.clientId.slice(0, 8)).first().waitFor({ state: 'attached' });
    await next.release();
    await (await last).release();
    await browser.page.getByText('No lock is held.').waitFor();
    expectQuiet(browser, server);
  });

  it('counts leases down', async () => {
    const { server, own } = await setUp();
    await own.acquire('fixed', { expire: '20s' });
    await using browser = await open(server);
    const lease = rowOf(browser, 'fixed').locator('.lease');
    const seconds = async () => parseFloat(await lease.innerText());
    await lease.waitFor();
    const before = await seconds();
    await eventually(async () => (await seconds()) <= before - 2);
    expect(before).toBeLessThanOrEqual(20);
    expectQuiet(browser, server);
  });

  it('sorts and filters, from the keyboard', async () => {
    const { server, own, second } = await setUp();
    await own.acquire('b', { kind: 'read' });
    // Locks of one millisecond are in the order of their keys.
    await sleep(5);
    await second.acquire('a');
    await second.acquire('c', { permits: 3 });
    await using browser = await open(server);
    const { page } = browser;
    await rowOf(browser, 'c').waitFor();
    const keys = (expected: string[]) =>
      eventuallyPasses(async () => expect(await textsOf(browser, '#table td.key button')).toEqual(expected));
    await keys(['b', 'a', 'c']);
    const head = page.getByRole('columnheader', { name: 'Key' });
    await page.getByRole('button', { name: 'Key' }).press('Enter');
    await keys(['a', 'b', 'c']);
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    await page.getByRole('button', { name: 'Key' }).press('Enter');
    await keys(['c', 'b', 'a']);
    expect(await head.getAttribute('aria-sort')).toBe('descending');
    await page.keyboard.press('/');
    await page.keyboard.type('permit');
    await keys(['c']);
    await page.keyboard.type(' none');
    await page.getByText('No lock matches the filter (3 locks).').waitFor();
    expectQuiet(browser, server);
  });

  it('releases a lock after its key has been typed, and shows the result', async () => {
    const { server, own, second } = await setUp();
    const lock = await own.acquire('stock:42');
    const waiting = second.acquire('stock:42', PATIENT);
    await bench.untilWaiting('stock:42', 1);
    await using browser = await open(server);
    const { page } = browser;
    await page.getByRole('button', { name: 'Release stock:42 by force' }).click();
    const dialog = page.getByRole('dialog');
    const release = dialog.getByRole('button', { name: 'Release' });
    expect(await dialog.innerText()).toContain('The lock then goes to the next waiter.');
    expect(await release.isDisabled()).toBe(true);
    await page.keyboard.type('stock:4');
    await page.keyboard.press('Enter');
    expect(await release.isDisabled()).toBe(true);
    expect(lock.isHeld).toBe(true);
    await page.keyboard.type('2');
    await page.keyboard.press('Enter');
    await dialog.getByText('Released.').waitFor();
    await aborted(lock.signal);
    const next = await waiting;
    await page.keyboard.press('Escape');
    await rowOf(browser, 'stock:42').getByText(second.clientId.slice(0, 8)).waitFor({ state: 'attached' });
    // A lock that its holder has lost is listed among the incidents of this process.
    await page.locator('#incidents .badge[data-kind=lost]').waitFor();
    expect(await page.locator('#incidents li').first().innerText()).toContain('stock:42');
    await eventuallyPasses(async () => expect((await textsOf(browser, '.tile .value'))[4]).toBe('1'));
    await next.release();
    expectQuiet(browser, server);
  });

  it('releases one of two readers, and the other keeps the lock', async () => {
    const { server, own, second } = await setUp();
    const one = await own.acquire('prices', { kind: 'read', owner: 'ann' });
    const other = await second.acquire('prices', { kind: 'read', owner: 'bob' });
    await using browser = await open(server);
    const { page } = browser;
    const row = rowOf(browser, 'prices').locator('tr').filter({ hasText: 'ann' });
    await row.getByRole('button', { name: /Release hold . of prices by force/ }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.innerText()).toMatch(
      /The holder may keep working for a moment, so two callers can overlap\. A connected holder has not crashed: restart its process instead\. Only this one of 2 holds ends\./,
    );
    await page.keyboard.type('prices');
    await page.keyboard.press('Enter');
    await dialog.getByText('Released.').waitFor();
    await aborted(one.signal);
    await other.verify();
    expect((await own.inspect('prices'))?.holders).toMatchObject([{ owner: 'bob' }]);
    expectQuiet(browser, server);
  });

  it('does not release a lock whose holder has changed', async () => {
    const { server, own, second } = await setUp();
    const lock = await own.acquire('a');
    await using browser = await open(server);
    const { page } = browser;
    await page.getByRole('button', { name: 'Release a by force' }).click();
    await lock.release();
    const next = await second.acquire('a');
    await page.keyboard.type('a');
    await page.keyboard.press('Enter');
    await page.getByText('Not released: the holder has changed.').waitFor();
    expect(next.isHeld).toBe(true);
    // The answer was no, and the browser complains about that.
    expect(browser.complaints).toEqual([expect.stringContaining('409')]);
    await next.release();
  });

  it('tells the method, pattern and label of holders, and the last holders of a key', async () => {
    const { server, own, second } = await setUp({}, { label: 'web-1' }, [{ label: 'job-2' }]);
    const before = await own.acquire('stock:42', { pattern: 'stock:#{#id}' });
    const waiting = own.acquire('stock:42', { owner: 'ann', ...PATIENT });
    await before.release();
    await (await waiting).release();
    await (await own.acquire('other')).release();
    const forced = await own.acquire('stock:42');
    await second.forceRelease('stock:42');
    await aborted(forced.signal);
    await using _held = await second.acquire('stock:42', { pattern: 'stock:#{#id}' });
    await using browser = await open(server);
    const { page } = browser;
    const row = rowOf(browser, 'stock:42');
    const name = row.getByRole('button', { name: 'stock:42', exact: true });
    await name.click();
    await eventuallyPasses(async () =>
      expect((await row.locator('.owner').innerText()).split('\n').filter(Boolean)).toEqual([
        'job-2',
        'stock:#{#id}',
        `client ${second.clientId.slice(0, 8)}`,
        'connected',
      ]),
    );
    await name.click();
    await own.acquire('stock:42', { waitTimeout: 100 }).catch(() => undefined);
    await eventuallyPasses(async () =>
      expect(await textsOf(browser, '#incidents .why')).toContainEqual(
        expect.stringMatching(/^web-1 timed out after .*, held by job-2$/),
      ),
    );
    expect(await textsOf(browser, '.of-process')).toEqual(['of web-1 only', 'of web-1 only']);
    expect(await page.locator('#holds li').count()).toBe(4);
    await name.click();
    await eventuallyPasses(async () =>
      expect(await textsOf(browser, '#holds .why')).toEqual([
        expect.stringMatching(/^web-1 \(exclusive\): waited .*, held .*: /),
        expect.stringMatching(/^ann \(exclusive\): waited .* for .*, held /),
        expect.stringMatching(/^web-1 \(exclusive\): waited .*, held /),
      ]),
    );
    expect(await textsOf(browser, '#holds .badge')).toEqual(['lost', 'released', 'released']);
    await name.click();
    await page.locator('#holds .key', { hasText: 'other' }).waitFor();
    expectQuiet(browser, server);
  });

  it('shows hostile keys as plain text', async () => {
    const { server, own, second } = await setUp();
    await own.acquire(HOSTILE, { owner: '<b>bob</b>' });
    await second.tryAcquire(HOSTILE);
    await expect(own.acquire(HOSTILE, { waitTimeout: 100 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await using browser = await open(server);
    const { page } = browser;
    const key = page.locator('td.key');
    await key.waitFor();
    expect(await key.innerText()).toBe('<img src=x onerror="document.title=1">\\u202ereversed');
    expect(await page.locator('td.owner').innerText()).toContain('<b>bob</b>');
    await page.locator('#incidents .badge[data-kind=timeout]').first().waitFor();
    await page.locator('td.action button').click();
    expect(await page.locator('#dialog-key').innerText()).toContain('<img');
    expect(await page.locator('main img, main b, dialog img').count()).toBe(0);
    expect(await page.title()).toBe('Locks');
    expectQuiet(browser, server);
  });

  it('polls the state if streams are blocked, and returns to the stream afterwards', async () => {
    const { server, own } = await setUp();
    await using browser = await Browser.start();
    const { page } = browser;
    await page.route('**/events*', (route) => route.fulfill({ status: 502 }));
    await page.goto(server.url);
    await page.locator('#status[data-state=polling]').waitFor();
    const lock = await own.acquire('a');
    await rowOf(browser, 'a').waitFor();
    await page.unroute('**/events*');
    await page.locator('#status[data-state=live]').waitFor();
    await lock.release();
    await page.getByText('No lock is held.').waitFor();
  });

  it('says since when Redis does not answer, and shows nothing old as live', async () => {
    const { server, own } = await setUp();
    await own.acquire('a');
    await using browser = await open(server);
    const { page } = browser;
    const row = rowOf(browser, 'a');
    await row.waitFor();
    await bench.redis.admin.acl('SETUSER', 'default', '-scan');
    try {
      await page
        .getByRole('alert')
        .getByText(/No data from Redis since \d\d:\d\d:\d\d\. .*lacks a permission/)
        .waitFor();
      expect(await page.locator('#status').innerText()).toBe('No data from Redis');
      await page
        .locator('#held-at')
        .getByText(/as of \d\d:\d\d:\d\d \(.* ago\)/)
        .waitFor();
      // What is known no longer does not run on.
      const texts = () => row.locator('.age, .lease').allInnerTexts();
      const before = await texts();
      expect(before).toEqual([expect.stringMatching(/^was /), expect.stringMatching(/^was /)]);
      await eventuallyPasses(async () =>
        expect(await page.locator('#held-at').innerText()).toMatch(/\([2-9]\.. s ago/),
      );
      expect(await texts()).toEqual(before);
      saveLook('stale-redis', await page.screenshot());
    } finally {
      await bench.redis.admin.acl('SETUSER', 'default', '+scan');
    }
    await page.getByRole('alert').waitFor({ state: 'hidden' });
    await page.locator('#status[data-state=live]').waitFor();
    await row.getByText(/^\d/).first().waitFor();
  });

  it('says since when the application does not answer, and greys everything', async () => {
    const { server, own } = await setUp();
    await own.acquire('a');
    await using browser = await open(server);
    const { page } = browser;
    await rowOf(browser, 'a').waitFor();
    await server.app.close();
    await page.locator('#status[data-state=offline]').waitFor();
    await page
      .getByRole('alert')
      .getByText(/The application has not answered since \d\d:\d\d:\d\d/)
      .waitFor();
    expect(await page.locator('body').getAttribute('data-stale')).toBe('all');
    expect(await rowOf(browser, 'a').locator('.lease').innerText()).toMatch(/^was /);
    expect(await accessibilityFaults(page)).toEqual([]);
    saveLook('stale-all', await page.screenshot());
  });

  it.each([
    ['light', 1440],
    ['dark', 390],
  ] as const)('shows 25 of 300 locks in one line each, and all on request, %s, %i px wide', async (scheme, width) => {
    const { server, own, second, third } = await setUp({ limit: 300 }, { label: 'web-1' }, [
      { label: 'web-2' },
      { label: 'web-2' },
    ]);
    const services = [own, second, third];
    await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        services[i % 3]!.acquire(`order:${1000 + i}`, { pattern: 'order:#{#order.id}' }),
      ),
    );
    services.forEach((each) => void each.acquire('order:1000', PATIENT).catch(() => undefined));
    await bench.untilWaiting('order:1000', 2);
    for (let i = 0; i < 3; i++) await own.acquire('order:1001', { waitTimeout: 0 }).catch(() => undefined);
    await using browser = await open(server, { scheme, width, height: PHONE });
    const { page } = browser;
    await page.getByRole('button', { name: 'Show all 300' }).waitFor();
    expect(await page.locator('#table td.key').count()).toBe(25);
    const heights = await page.evaluate<number[]>(
      `[...document.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect().height)`,
    );
    // One line each; on a phone a card has three.
    expect(Math.max(...heights)).toBeLessThan(width < 500 ? 100 : 40);
    // Only where two clients have the same label is the id of the client needed.
    const owner = (key: string) => rowOf(browser, key).locator('.owner').first().innerText();
    expect(await owner('order:1000')).not.toContain('client');
    await page.getByRole('button', { name: 'Show all 300' }).click();
    await eventuallyPasses(async () => expect(await page.locator('#table td.key').count()).toBe(300));
    expect(await owner('order:1001')).toContain(`client ${second.clientId.slice(0, 8)}`);
    // Equal incidents are one.
    expect(await textsOf(browser, '#incidents .badge')).toEqual(['timeout × 3']);
    if (width > 500) {
      await page.evaluate('window.scrollTo(0, 4000)');
      const top = await page.evaluate<number>(`document.querySelector('th').getBoundingClientRect().top`);
      expect(top).toBe(0);
    }
    saveLook(`all-${scheme}-${width}`, await page.screenshot());
    await page.getByRole('button', { name: 'Show the first 25' }).click();
    await eventuallyPasses(async () => expect(await page.locator('#table td.key').count()).toBe(25));
    expect(await accessibilityFaults(page)).toEqual([]);
    saveLook(`many-${scheme}-${width}`, await page.screenshot({ fullPage: true }));
    expectQuiet(browser, server);
  });

  it.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
    ['light', 320],
  ] as const)('is accessible and has room for everything, %s, %i px wide', async (scheme, width) => {
    const { server, own, second } = await setUp();
    await own.acquire('order:{4711}:a-long-key-that-has-to-find-its-place-on-a-narrow-screen-as-well', {
      ...{ owner: 'ann', pattern: 'order:{#{#order.id}}:#{#name}' },
    });
    await own.acquire('prices', { kind: 'read' });
    await second.acquire('prices', { kind: 'read' });
    second.acquire('prices', PATIENT).catch(() => undefined);
    await bench.untilWaiting('prices', 1);
    await second.acquire('mail', { permits: 2 });
    await second.acquire('prices', { waitTimeout: 0 }).catch(() => undefined);
    await own.acquire('mail', { waitTimeout: 0 }).catch(() => undefined);
    await using browser = await open(server, { scheme, width, height: PHONE });
    const { page } = browser;
    await rowOf(browser, 'prices').waitFor();
    await page.locator('#incidents li').first().waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect(overflow).toBeLessThanOrEqual(0);
    expect(await clippedTexts(page)).toEqual([]);
    await page.getByRole('button', { name: /waiting for prices/ }).click();
    if (width < 500) {
      const heights = await page.evaluate<number[]>(
        `[...document.querySelectorAll('tbody tr:not(.queue)')].map((row) => row.getBoundingClientRect().height)`,
      );
      // At least four locks on one screen, or three on the narrowest.
      expect(Math.max(...heights)).toBeLessThan(PHONE / (width < 390 ? 3 : 4));
    }
    saveLook(`${scheme}-${width}`, await page.screenshot({ fullPage: true }));
    await page.locator('td.action button').first().click();
    expect(await accessibilityFaults(page)).toEqual([]);
    saveLook(`${scheme}-${width}-dialog`, await page.screenshot());
    expectQuiet(browser, server);
  });
});

if (process.env['LOCKS_SCREENSHOTS'] === '1') {
  it('the pictures of the docs show the page in use', async () => {
    const { server, own, second, third } = await setUp({}, { label: 'web-1' }, [
      { label: 'web-2' },
      { label: 'job-1' },
    ]);
    mkdirSync(IMAGES, { recursive: true });
    const kept = await shopAtWork(own, second, third);
    for (const scheme of ['light', 'dark'] as const) {
      await using browser = await open(server, { scheme, width: 1040, height: 1000 });
      await browser.page.getByRole('button', { name: /waiting for stock:42/ }).click();
      await browser.page.locator('.queue li').first().waitFor();
      save(`dashboard-${scheme}.png`, await browser.page.screenshot());
    }
    await using narrow = await open(server, { width: 360, height: 900 });
    save('dashboard-narrow.png', await narrow.page.screenshot());
    await Promise.all(kept.map((lock) => lock.release()));
  }, 180_000);
}

const MOST_BYTES = 150_000;

function save(name: string, png: Buffer): void {
  expect(png.length).toBeLessThan(MOST_BYTES);
  writeFileSync(`${IMAGES}${name}`, png);
}

/** A minute in the life of a shop: sections of all lengths, a lost lock, a caller that timed out. */
async function shopAtWork(own: LockService, second: LockService, third: LockService): Promise<LockHandle[]> {
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const end = performance.now() + 40_000;
  const work = async (locks: LockService, key: string, length: number) => {
    while (performance.now() < end) {
      await locks.run(key, () => sleep(length * Math.exp(2 * (Math.random() - 0.5)))).catch(() => undefined);
      await sleep(30 * Math.random() + 300 * (1 + Math.sin(performance.now() / 4_000)));
    }
  };
  const kept = await Promise.all([
    own.acquire('import:products.csv', { owner: 'importer' }),
    second.acquire('nightly-report', { expire: '10m' }),
    own.acquire('prices', { kind: 'read' }),
    second.acquire('prices', { kind: 'read' }),
    third.acquire('mail-server', { permits: 5 }),
    second.acquire('stock:42', { owner: 'checkout-7' }),
  ]);
  const forcedOut = await own.acquire('payout:9316', { pattern: 'payout:#{#id}' });
  const forced = second.forceRelease('payout:9316').then(() => aborted(forcedOut.signal));
  await own.acquire('nightly-report', { waitTimeout: 200 }).catch(() => undefined);
  for (const locks of [own, third, own])
    locks.acquire('stock:42', { waitTimeout: '5m', fair: true }).catch(() => undefined);
  const jobs = ['order:1', 'order:1', 'order:2', 'cart:a', 'cart:a', 'cart:a', 'cart:b'].map((key, i) =>
    work(own, key, 8 * (i + 1)),
  );
  await Promise.all([forced, ...jobs, work(second, 'cart:a', 60), work(third, 'order:1', 90)]);
  return kept;
}
