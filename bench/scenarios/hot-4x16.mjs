import { contention } from '../harness/contention.mjs';

export default contention({
  name: 'hot-4x16',
  title: 'One hot key, 4 processes × 16 callers',
  processes: 4,
  waiters: 16,
  about: 'All want the same key all the time; a section is nothing, or a turn of the event loop every eighth time.',
});
