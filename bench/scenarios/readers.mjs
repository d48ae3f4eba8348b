import { contention } from '../harness/contention.mjs';

export default contention({
  name: 'readers',
  title: 'Readers, 4 processes × 16 callers',
  processes: 4,
  waiters: 16,
  sectionMs: 1,
  mode: 'read',
  about: 'All want to read the same key all the time; a section is 1 ms.',
});
