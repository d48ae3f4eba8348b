import { parseDuration } from 'nestjs-redis-locks/client';
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
    ['.5s', 500],
    ['1e3ms', 1_000],
  ])('%p is %p ms', (written, ms) => {
    expect(durationIn(written)).toBe(ms);
  });

  const numbers = [-1, NaN, -Infinity];
  const texts = ['', '30', 's', '-5s', '5 sec', '5S', '1w', '1h30m', 'Infinity', 'Infinitys', '1e400s', '5s\n6s'];
  const others = [null, undefined, true, 10n, {}, ['5s'], new Date()];
  it.each([...numbers, ...texts, ...others].map((written) => [written]))('refuses %p', (written) => {
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

describe('parseDuration(text)', () => {
  it('reads a duration', () => {
    expect(parseDuration('1.5m')).toBe(90_000);
  });

  it.each([
    [
      '30',
      "parseDuration(text) is \"30\"; write a number of milliseconds, or a text with a unit, such as '500ms', '30s', '5m', up to '366d'.",
    ],
    ['soon', 'parseDuration(text) is "soon"; write a number of milliseconds, or a text with a unit, such as \'500ms\''],
    ['', 'parseDuration(text) is an empty string; write a number of milliseconds, or a text with a unit'],
    [undefined, 'parseDuration(text) is undefined; write a number of milliseconds, or a text with a unit'],
    [-1, 'parseDuration(text) is -1; write a number of milliseconds'],
    [
      '367d',
      "parseDuration(text) is \"367d\"; write a number of milliseconds, or a text with a unit, such as '500ms', '30s', '5m', up to '366d'.",
    ],
    ['redis://user:s3cret@host', 'parseDuration(text) is "redis://'],
  ])('refuses %p', (text, message) => {
    const refused = () => parseDuration(text as string);
    expect(refused).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG' }));
    expect(refused).toThrow(message);
    expect(refused).not.toThrow('s3cret');
  });
});
