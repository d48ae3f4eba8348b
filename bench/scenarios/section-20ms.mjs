import { contention } from '../harness/contention.mjs';

export default contention({
  name: 'section-20ms',
  title: 'Sections of 20 ms, 4 processes × 4 callers',
  processes: 4,
  waiters: 4,
  sectionMs: 5,
  about: 'All want the same key all the time; a section is 20 ms. Node rounds it up to the next whole ms.',
});
