import { contention } from '../harness/contention.mjs';

export default contention({
  name: 'hot-1x64',
  title: 'One hot key, 1 process × 64 callers',
  processes: 1,
  waiters: 64,
  about: 'All want the same key all the time; a section is nothing, or a turn of the event loop every eighth time.',
});
