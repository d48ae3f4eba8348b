import type { LockState } from '../../../lib/service/lock-state.js';
import { describeCycles } from '../../../lib/cli/doctor/check-deadlocks.js';
import { checkClock, checkLatency } from '../../../lib/cli/doctor/check-clock.js';
import { checkInfo } from '../../../lib/cli/doctor/check-server.js';
import type { Finding } from '../../../lib/cli/doctor/finding.js';
import { styleFor } from '../../../lib/cli/output/style.js';
import { time } from '../../../lib/cli/output/texts.js';

/** What the doctor finds of a subject in this answer to INFO. */
const found = (check: string, info: Record<string, string>): Finding =>
  checkInfo(new Map(Object.entries(info)), 'one server').find((finding) => finding.check === check)!;

describe('findings', () => {
  it.each([
    ['6.0.20', 'problem'],
    ['5.9.9', 'problem'],
    ['6.2.0', 'ok'],
    ['7.2.4', 'ok'],
    ['10.0.0', 'ok'],
  ])('of Redis %s: %s', (version, status) => {
    expect(found('server version', { redis_version: version }).status).toBe(status);
  });

  it('of Valkey, by its own name', () => {
    const finding = found('server version', { redis_version: '7.2.4', valkey_version: '8.1.0' });
    expect(finding).toMatchObject({ status: 'ok', found: 'Valkey 8.1.0 (as Redis 7.2.4)' });
  });

  it.each([
    [0, 1, 'ok'],
    [900, 1, 'ok'],
    [-1_500, 1, 'warning'],
    [86_400_000, 1, 'warning'],
    [1_100, 400, 'ok'],
  ])('of a clock that is %d ms ahead, after a round trip of %d ms: %s', (ahead, took, status) => {
    expect(checkClock({ ahead, took }).status).toBe(status);
  });

  it('of a clock says which one is ahead, and of evicted keys how many', () => {
    expect(checkClock({ ahead: -299_999, took: 1 }).found).toContain(
      'this machine is 299999 ms ahead of that of the server',
    );
    expect(found('evicted keys', { evicted_keys: '7' })).toMatchObject({
      status: 'warning',
      found: expect.stringContaining('7 '),
    });
  });

  it('of servers that are far away, nearly full, or cannot save', () => {
    expect(checkLatency({ ahead: 0, took: 80 }).status).toBe('warning');
    expect(found('memory', { used_memory: '95', maxmemory: '100' }).status).toBe('warning');
    expect(found('memory', { used_memory: '50', maxmemory: '100' }).status).toBe('ok');
    expect(found('saving', { rdb_last_bgsave_status: 'err' }).status).toBe('problem');
  });
});

describe('texts', () => {
  it.each([
    [-5, '0 ms'],
    [250.4, '250 ms'],
    [12_345, '12.3 s'],
    [59_999, '59.9 s'],
    [185_000, '3m 5s'],
    [7_500_000, '2h 5m'],
    [187_200_000, '2d 4h'],
  ])('%d ms are %s', (ms, text) => {
    expect(time(ms)).toBe(text);
  });

  it.each([
    ['a terminal', true, true, {}, true],
    ['a pipe', false, true, {}, false],
    ['--no-color', true, false, { FORCE_COLOR: '1' }, false],
    ['NO_COLOR', true, true, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR', true, true, { NO_COLOR: '' }, true],
    ['FORCE_COLOR', false, true, { FORCE_COLOR: '1' }, true],
    ['a dumb terminal', true, true, { TERM: 'dumb' }, false],
  ])('on %s', (_what, isTTY, wanted, env, colored) => {
    expect(styleFor({ isTTY }, wanted, env).bad('x') !== 'x').toBe(colored);
  });
});

it('two processes that wait for each other are named in the order of their waits, however Redis lists the locks', () => {
  const lock = (key: string, holder: string, waiter: string, waitsFrom: number): LockState =>
    ({
      key,
      holders: [{ client: holder, label: holder, since: new Date(0) }],
      waiters: [{ client: waiter, label: waiter, since: new Date(waitsFrom) }],
    }) as unknown as LockState;
  const locks = [lock('order', 'other', 'one', 2_000), lock('stock', 'one', 'other', 1_000)];
  const [found, reversed] = [locks, locks.toReversed()].map((listed) => describeCycles(listed, 10_000).found);
  expect(found).toMatch(/^other has waited for 'stock' .*; one has waited for 'order'/);
  expect(reversed).toBe(found);
});
