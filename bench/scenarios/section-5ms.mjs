import { contention } from '../harness/contention.mjs';

export default contention({
  name: 'section-5ms',
  title: 'Sections of 5 ms, 4 processes × 4 callers',
  processes: 4,
  waiters: 4,
  sectionMs: 5,
  about: 'All want the same key all the time; a section is 5 ms. Node rounds it up to the next whole ms.',
});
