import { RepeatedWarnings } from '../../../lib/common/repeated-warnings.js';
import type { Clock } from '../../../lib/common/clock.js';

describe('RepeatedWarnings', () => {
  const lines: string[] = [];
  let now = 0;
  const ignore = (): void => undefined;
  const logger = { debug: ignore, log: ignore, warn: (line: string) => void lines.push(line), error: ignore };
  const warnings = new RepeatedWarnings(logger, { now: () => now } as Clock);

  it('logs equal warnings once a minute, with their number', () => {
    expect(warnings.warn('full', 'out of memory for a')).toBe(true);
    for (let i = 0; i < 299; i++) expect(warnings.warn('full', 'out of memory for b')).toBe(false);
    expect(warnings.warn('denied', 'no permission')).toBe(true);
    now = 61_000;
    expect(warnings.warn('full', 'out of memory for c')).toBe(true);
    now = 130_000;
    expect(warnings.warn('full', 'out of memory for d')).toBe(true);
    expect(lines).toEqual([
      'out of memory for a',
      'no permission',
      'out of memory for c (and 299 more times in the last 61 s)',
      'out of memory for d',
    ]);
  });

  it('remembers a bounded number of warnings', () => {
    for (let i = 0; i < 1_000; i++) warnings.warn(`reason ${i}`, 'failed');
    lines.length = 0;
    expect(warnings.warn('reason 0', 'failed')).toBe(true);
    expect(warnings.warn('reason 999', 'failed')).toBe(false);
  });
});
