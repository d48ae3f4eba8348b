import { freshKeys } from '../harness/fresh-keys.mjs';
import { FOREIGN } from '../libraries/index.mjs';

export default freshKeys({
  name: 'fill',
  title: '10 000 fresh keys held at once',
  callers: 200,
  held: 10_000,
  includes: ({ library, isForWaiting }) => !isForWaiting && !FOREIGN.includes(library),
  about:
    '200 callers in one process acquire 10 000 keys that were never used before, then release all of them, over and over. A ' +
    'cycle is one lock: the time of its acquisition and of its release.',
});
