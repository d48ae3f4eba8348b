import { readCommandLine, type CommandLine } from '../../../lib/cli/arguments.js';
import { WatchView } from '../../../lib/cli/commands/watch.js';
import { styleFor } from '../../../lib/cli/output/style.js';
import { connect } from '../../../lib/cli/session.js';
import { LockBench, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
beforeEach(async () => {
  const service = await bench.service({ renewedLease: '10m', label: 'shop:1' });
  await service.acquire('stock:42');
});

/** `watch` on a terminal of 80 columns, or with its output in a pipe. */
async function watching({ isInteractive = true, args = [] as string[], timeout = '30s' } = {}) {
  const line = readCommandLine(['watch', ...args, '-c', bench.redis.url, '-t', timeout], {}) as CommandLine;
  const session = bench.endLater(await connect(line));
  const written = { screen: '', out: '', err: '' };
  const terminal = {
    ...{ style: styleFor({ isTTY: isInteractive }, true, {}), isInteractive, space: { columns: 80, rows: 24 } },
    write(text: string) {
      written.screen = text;
      written.out += text;
    },
    complain: (text: string) => void (written.err += text),
  };
  const view = new WatchView(session, line, terminal, new AbortController().signal);
  return {
    written,
    refresh: () => view.refresh(),
    /** The first table, however long a busy machine needs for it. */
    untilShown: () =>
      eventually(async () => {
        await view.refresh();
        return written.screen.includes('stock:42');
      }),
  };
}

/** A screen without its escape sequences. */
const plain = (screen: string): string => screen.replace(/\u001b\[\d*[a-zA-Z]/g, '');
const rowOf = (screen: string): string | undefined => screen.split('\n').find((row) => row.includes('stock:42'));
/** The heading with its time, and the table. */
const tableOf = (screen: string): string => screen.slice(screen.search(/^\S+Z {2}1 locked/m));

it('says since when Redis is away, and shows the last table in grey, without moving times', async () => {
  const { written, refresh, untilShown } = await watching({ timeout: '1s' });
  await untilShown();
  written.err = '';
  const live = written.screen;
  expect(plain(live)).not.toContain('No data');
  const [readAt] = /^\S+Z/m.exec(plain(live))!;
  await bench.redis.kill();
  for (let i = 0; i < 2; i++) {
    await refresh();
    const [first, reason, third, ...rest] = plain(written.screen).split('\n');
    expect(first).toMatch(new RegExp(`^No data from Redis since ${readAt.replaceAll('.', '\\.')} \\(\\d.*s\\)$`));
    expect(reason).not.toBe('');
    expect(third).toBe('The locks below are from then. Their leases may have ended.');
    expect(rest.join('\n')).toBe(tableOf(plain(live)));
    expect(Math.max(...[first, reason, third].map((text) => text!.length))).toBeLessThanOrEqual(80);
    expect(rowOf(written.screen)).toBe(`\u001b[2m${rowOf(plain(live))}\u001b[22m`);
  }
  expect(written.err).toBe('');
});

it('marks the screen as old while an answer takes long', async () => {
  const { written, refresh } = await watching();
  await refresh();
  await bench.redis.pause();
  const late = refresh();
  await eventually(() => plain(written.screen).includes('Redis has not answered yet'));
  expect(plain(written.screen)).toMatch(/^No data from Redis since /);
  await bench.redis.resume();
  await late;
  expect(plain(written.screen)).not.toContain('No data');
});

it.each([[[]], [['--json']]])('reports in a pipe since when there are no data: watch %p', async (args) => {
  const { written, refresh, untilShown } = await watching({ isInteractive: false, args, timeout: '1s' });
  await untilShown();
  const { out } = written;
  written.err = '';
  await bench.redis.kill();
  await refresh();
  expect(written.err).toMatch(/^No data from Redis since \d{4}-\S+Z \(\d.*s\): .+\n$/);
  expect(written.out).toBe(out);
});
