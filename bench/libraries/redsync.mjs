import { foreign } from './foreign.mjs';

export default foreign({
  title: 'redsync',
  program: 'go',
  kind: 'redsync',
  module: 'github.com/go-redsync/redsync/v4',
  variants: {
    defaults: { about: 'defaults: 32 tries, every 50 to 250 ms, lease 8 s without renewal; with go-redis' },
    tuned: {
      about: '`WithTries` without limit, `WithRetryDelay` of 10 ms',
      settings: { tries: 'unlimited', retryDelay: 10 },
      only: 'waiting',
    },
    once: { hidden: true, settings: { tries: 1 } },
  },
});
