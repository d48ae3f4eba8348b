import { contention } from '../harness/contention.mjs';

export default contention({
  name: 'hot-16x1',
  title: 'One hot key, 16 processes × 1 caller',
  processes: 16,
  waiters: 1,
  charts: ['throughput', 'waits', 'fairness', 'commands', 'hot-key'],
  about: 'All want the same key all the time; a section is nothing, or a turn of the event loop every eighth time.',
});
