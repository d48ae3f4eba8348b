import { describe, expect, it } from '@jest/globals';
import { durationIn } from '../../../lib/common/duration.js';

describe('a duration', () => {
  it.each([
    [0, 0],
    [1.5, 1.5],
    [30_000, 30_000],
    [Infinity, Infinity],
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['24h', 86_400_000],
    ['1d', 86_400_000],
    ['1.5d', 129_600_000],
    ['0s', 0],
    [' 30 s ', 30_000],
  ])('%p is %p ms', (written, ms) => {
    expect(durationIn(written)).toBe(ms);
  });

  it.each([
    [-1],
    [NaN],
    [-Infinity],
    [''],
    ['30'],
    ['s'],
    ['-5s'],
    ['+5s'],
    ['5 sec'],
    ['5S'],
    ['1w'],
    ['1h30m'],
    ['.5s'],
    ['1e3ms'],
    ['Infinity'],
    ['5s\n6s'],
    [null],
    [undefined],
    [true],
    [10n],
    [{}],
    [['5s']],
    [new Date()],
  ])('refuses %p', (written) => {
    expect(durationIn(written)).toBeUndefined();
  });

  it('reads a text of 100 kB in no time', () => {
    const since = performance.now();
    expect(durationIn('1'.repeat(100_000))).toBeUndefined();
    expect(durationIn(`${' '.repeat(100_000)}x`)).toBeUndefined();
    expect(durationIn(`1${' '.repeat(100_000)}x`)).toBeUndefined();
    expect(performance.now() - since).toBeLessThan(500);
  });
});
