import { foreign } from './foreign.mjs';

export default foreign({
  title: 'bsm/redislock',
  program: 'go',
  kind: 'redislock',
  module: 'github.com/bsm/redislock',
  variants: {
    defaults: {
      about: 'defaults: one try, so it cannot wait; lease 30 s without renewal; with go-redis',
      waits: false,
    },
    example: {
      about: '`LimitRetry(LinearBackoff(100 ms), 3)`, as in its example',
      settings: { retryDelay: 100, tries: 3 },
      only: 'waiting',
    },
    tuned: {
      about: '`LinearBackoff(10 ms)`, for 30 s',
      settings: { retryDelay: 10 },
      only: 'waiting',
    },
    once: { hidden: true },
  },
});
