import { describe, expect, it } from '@jest/globals';
import { parseDuration } from 'nestjs-redis-locks/client';

describe('parseDuration(text)', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['0s', 0],
    [' 30s\n', 30_000],
  ])('%p is %p ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    ['30', "parseDuration(text) is \"30\", without a unit: write the number 30 for milliseconds, or '30ms', or '30s'."],
    ['soon', "parseDuration(text) is \"soon\"; write milliseconds, or a text such as '500ms', '30s', '5m'."],
    ['', 'parseDuration(text) is an empty string; write milliseconds, or a text such as'],
    [undefined, 'parseDuration(text) is undefined; write milliseconds, or a text such as'],
    [-1, 'parseDuration(text) is -1; write milliseconds'],
    ['367d', 'parseDuration(text) is "367d"; the longest possible is 366 days: write \'366d\' or less.'],
    ['redis://user:s3cret@host', 'parseDuration(text) is "redis://'],
  ])('refuses %p', (text, message) => {
    const refused = () => parseDuration(text as string);
    expect(refused).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG' }));
    expect(refused).toThrow(message);
    expect(refused).not.toThrow('s3cret');
  });
});
