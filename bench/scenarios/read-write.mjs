import { contention } from '../harness/contention.mjs';

export default contention({
  name: 'read-write',
  title: 'Readers and writers, 4 processes × 16 callers',
  processes: 4,
  waiters: 16,
  sectionMs: 1,
  mode: 'readWrite',
  about:
    "One caller of each process writes and the other 15 read, all the time; a section is 1 ms. Jain's index is that of all callers, so it is 1 only if writers and readers have as many turns.",
});
