import { readCommandLine, type CommandLine } from '../../../lib/cli/arguments.js';
import { inspect } from '../../../lib/cli/commands/inspect.js';
import { ls } from '../../../lib/cli/commands/ls.js';
import { WatchView } from '../../../lib/cli/commands/watch.js';
import { styleFor } from '../../../lib/cli/output/style.js';
import { connect } from '../../../lib/cli/session.js';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { LockServices } from '../../../lab/testbed/locks/lock-services.js';

const services = new LockServices();
const LONG = 'import:a-supplier-with-a-long-name:products-of-the-whole-year.csv';
let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
  const service = await services.start({ connection: redis.url, renewedLease: '10m' });
  for (let from = 0; from < 4_998; from += 500) {
    const keys = Array.from({ length: Math.min(500, 4_998 - from) }, (_, i) => `stock:${from + i}`);
    await Promise.all(keys.map((key) => service.acquire(key)));
  }
  await service.acquire(LONG, { owner: 'a-caller-whose-name-is-long' });
  await service.acquire('価格:東京都新宿区西新宿二丁目八番一号:非常に長い名前の鍵:🔒🔒');
}, 60_000);
afterAll(async () => {
  await services.closeAll();
  await redis.stop();
});

/** What a command writes on a terminal of 80 columns and 24 rows. */
async function onTerminal(...args: string[]): Promise<string[]> {
  const line = readCommandLine(['-c', redis.url, '-t', '30s', ...args], {}) as CommandLine;
  let text = '';
  const terminal = {
    ...{ style: styleFor({ isTTY: false }, false, {}), isInteractive: true, space: { columns: 80, rows: 24 } },
    write: (more: string) => void (text += more),
    complain: (more: string) => void (text += more),
  };
  await using session = await connect(line);
  if (line.command === 'watch') await new WatchView(session, line, terminal, new AbortController().signal).refresh();
  else await { ls, inspect }[line.command as 'ls' | 'inspect'](session, line, terminal);

  return text.replace(/^(\u001b\[\w+)+/, '').split('\n');
}

/** The columns that a text takes, for the characters of these tests. */
const width = (text: string): number =>
  Array.from(new Intl.Segmenter().segment(text)).reduce(
    (sum, { segment }) => sum + (/[^ -~…]/.test(segment) ? 2 : 1),
    0,
  );

describe('5 000 locks on a terminal of 80 columns', () => {
  it('ls shows as many as fit, cuts long names, and counts the rest', async () => {
    const lines = await onTerminal('ls');
    expect(lines.length).toBeLessThan(24);
    expect(lines.filter((text) => width(text) > 80)).toEqual([]);
    expect(lines[0]).toMatch(/^KEY +HELD +HOLDER +CONNECTION +FOR +LEASE LEFT +QUEUE$/);
    expect(lines[1]).toMatch(/^import:a-supplier.*… +exclusive +\S+ /);
    expect(lines.at(-2)).toBe('4 980 more');
    // Columns begin below their headings.
    for (const text of lines.slice(2, -2)) expect(text.indexOf('exclusive')).toBe(lines[0]!.indexOf('HELD'));
  });

  it('watch stays a table', async () => {
    for (const args of [[], ['--sort', 'waiters'], ['価*']]) {
      const lines = await onTerminal('watch', ...args);
      expect(lines.length).toBeLessThanOrEqual(24);
      expect(lines.filter((text) => width(text) > 80)).toEqual([]);
      expect(lines[0]).toMatch(args[0] === '価*' ? / 1 locked, 0 in the queues$/ : / 5 000 locked, 0 in the queues$/);
      expect(lines[1]).toMatch(/^KEY +HELD /);
    }
    const [heading, none] = await onTerminal('watch', 'zzz');
    expect([heading, none]).toEqual([expect.stringContaining(' 0 locked'), "No lock matches 'zzz' (5 000 held)."]);
  });

  it('inspect leaves out what does not fit', async () => {
    const lines = await onTerminal('inspect', LONG);
    expect(lines[0]).toBe(`${LONG}  1 holding, 0 processes in the queue (calls inside a process: redis_lock_waiting)`);
    expect(lines.slice(1).filter((text) => width(text) > 80)).toEqual([]);
    expect(lines[2]).toMatch(/^HELD +HOLDER +CONNECTION +FOR +LEASE LEFT +TOKEN$/);
  });
});
