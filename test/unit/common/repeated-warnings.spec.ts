import { RepeatedWarnings } from '../../../lib/common/repeated-warnings.js';
import { SILENT, FakeClock } from '../engine/support.js';

describe('RepeatedWarnings', () => {
  const lines: string[] = [];
  const clock = new FakeClock();
  const warnings = new RepeatedWarnings({ ...SILENT, warn: (line) => void lines.push(line) }, clock);

  it('logs equal warnings once a minute, with their number', () => {
    expect(warnings.warn('full', 'out of memory for a')).toBe(true);
    for (let i = 0; i < 299; i++) expect(warnings.warn('full', 'out of memory for b')).toBe(false);
    expect(warnings.warn('denied', 'no permission')).toBe(true);
    clock.stall(61_000);
    expect(warnings.warn('full', 'out of memory for c')).toBe(true);
    clock.stall(69_000);
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
