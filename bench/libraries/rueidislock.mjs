import { foreign } from './foreign.mjs';

export default foreign({
  title: 'rueidislock',
  program: 'go',
  kind: 'rueidislock',
  module: 'github.com/redis/rueidis',
  variants: {
    defaults: { about: 'defaults: two of three keys, lease 5 s with renewal, client-side caching instead of polling' },
    tuned: {
      about: '`KeyMajority: 1`, `NoLoopTracking: true`, as its README does for one server; `TryNextAfter` of 1 s',
      settings: { keyMajority: 1, noLoopTracking: true, tryNextAfter: 1_000 },
    },
    once: { hidden: true, settings: { tries: 1 } },
  },
});
