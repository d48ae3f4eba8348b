import { contention } from '../harness/contention.mjs';
import { SharedState } from '../harness/shared-state.mjs';

export default contention({
  name: 'many-keys',
  title: '10 000 keys at random, 4 processes × 16 callers',
  processes: 4,
  waiters: 16,
  keys: SharedState.KEYS,
  sectionMs: 1,
  // Hardly any caller waits, so of the settings for waiting only the tuned ones are measured.
  includes: ({ waits, variant }) => waits && ['defaults', 'tuned'].includes(variant),
  about:
    'Each caller asks for one of 10 000 keys at random, all the time; a section is 1 ms. About one request in 150 finds ' +
    'its key held. Like a service that locks orders or accounts: most locks are free, and each key is used again.',
});
