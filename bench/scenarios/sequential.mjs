import { freshKeys } from '../harness/fresh-keys.mjs';

export default freshKeys({
  name: 'sequential',
  title: 'Sequential on fresh keys',
  callers: 1,
  about:
    'One caller in one process: acquire, release, the next key. Measured in five times as many turns, each a fifth as long.',
});
