import { locksTable } from '../../../lib/cli/output/locks-table.js';
import { styleFor } from '../../../lib/cli/output/style.js';
import { grouped } from '../../../lib/service/party-names.js';
import { fitTo, widthOf } from '../../../lib/cli/output/width.js';
import { concerns } from '../../../lib/cli/find-locks.js';
import type { LockHolder, LockState } from '../../../lib/service/lock-state.js';

const NOW = Date.UTC(2026, 0, 1);
const PLAIN = styleFor({ isTTY: false }, false, {});
const UNLIMITED = { columns: Infinity, rows: Infinity };
const CLIENT = '0123456789abcdef0123456789abcdef';

function lockOf(key: string, facts: object = {}): LockState {
  const holder = {
    ...{ id: `${CLIENT}:1`, owner: `${CLIENT}:1`, client: CLIENT, kind: 'exclusive', units: 0, kept: false },
    ...{ label: undefined, pattern: undefined, method: undefined },
    ...{ fencingToken: 7, ttl: 20_000, since: new Date(NOW - 12_300), ...facts },
  } as LockHolder;
  return { key, holders: [holder], owner: holder.owner, ...COUNTS };
}
const COUNTS = { holds: 1, ttl: 20_000, fencingToken: 7, waiters: [], waitingHere: 0, permits: undefined };

const rowsOf = (locks: LockState[], space = UNLIMITED): string[][] =>
  locksTable(PLAIN, locks, NOW, space)
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));

describe('a table of locks', () => {
  it('names the holder by the label and the pattern, or else by the id of the client', () => {
    const named = lockOf('a', { label: 'shop-7:31', pattern: 'stock:*', method: 'StockService.reserve' });
    expect(rowsOf([named, lockOf('b')])).toEqual([
      ['KEY', 'HELD', 'HOLDER', 'METHOD', 'PATTERN', 'FOR', 'LEASE LEFT', 'QUEUE'],
      ['a', 'exclusive', 'shop-7:31', 'StockService.reserve', 'stock:*', '12.3 s', '20.0 s', '0'],
      ['b', 'exclusive', '01234567', '-', '-', '12.3 s', '20.0 s', '0'],
    ]);
    expect([concerns(named, 'shop-7'), concerns(lockOf('b'), 'shop-7'), concerns(named, '012345')]).toEqual([
      ...[true, false, true],
    ]);
  });

  it('leaves optional columns out before it cuts names to a few letters', () => {
    const lock = lockOf('stock:42', {
      label: 'shop-7d9f8b6c5-x2x4z:31',
      pattern: 'StockService.reserve',
      owner: 'ann',
    });
    expect(rowsOf([lock], { columns: 110, rows: 24 })[0]).toContain('PATTERN');
    expect(rowsOf([lock], { columns: 80, rows: 24 })).toEqual([
      ['KEY', 'HELD', 'HOLDER', 'OWNER', 'FOR', 'LEASE LEFT', 'QUEUE'],
      ['stock:42', 'exclusive', 'shop-7d9f8b6c5-x2x4z:31', 'ann', '12.3 s', '20.0 s', '0'],
    ]);
  });

  it('shows neither escape sequences nor passwords of labels, patterns and owners', () => {
    const evil = '\u001b]0;x\u0007\u009b31m\u202e';
    for (const space of [UNLIMITED, { columns: 60, rows: 24 }]) {
      const lock = lockOf(evil, { label: evil, pattern: evil, owner: evil });

      expect(locksTable(PLAIN, [lock], NOW, space)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    expect(locksTable(PLAIN, [lockOf('a', { label: 'redis://ann:s3cret@h' })], NOW, UNLIMITED)).not.toContain('s3cret');
  });
});

describe('the width of texts', () => {
  it.each([
    ['abc', 3],
    ['e\u0301', 1],
    ['東京', 4],
    ['🔒', 2],
  ])('of %j is %d', (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  it.each([
    ['abc', 5, 'abc  '],
    ['abcdef', 4, 'abc…'],
    ['東京都', 4, '東… '],
  ])('%j in %d columns is %j', (text, width, fitted) => {
    expect(fitTo(text, width)).toBe(fitted);
  });

  it('groups digits', () => {
    expect([7, 999, 4_980, 1_234_567].map(grouped)).toEqual(['7', '999', '4 980', '1 234 567']);
  });
});
