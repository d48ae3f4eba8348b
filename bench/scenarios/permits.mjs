import { contention } from '../harness/contention.mjs';

export default contention({
  name: 'permits',
  title: '8 permits, 4 processes × 16 callers',
  processes: 4,
  waiters: 16,
  sectionMs: 1,
  mode: 'permit',
  permits: 8,
  about:
    'All want one of 8 permits of the same key all the time; a section is 1 ms. The permits of `RSemaphore` have no lease: a crash keeps them.',
});
