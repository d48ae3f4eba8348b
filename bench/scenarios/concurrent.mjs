import { freshKeys } from '../harness/fresh-keys.mjs';

export default freshKeys({
  name: 'concurrent',
  title: '64 concurrent on fresh keys',
  callers: 64,
  about: '64 callers in one process, each as in the sequential scenario.',
});
