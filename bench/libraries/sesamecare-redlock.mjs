import sesamecare from '@sesamecare-oss/redlock';
import { openWith } from './redlock.mjs';

const { Redlock, ExecutionError } = sesamecare;

export default {
  title: '@sesamecare-oss/redlock',
  module: '@sesamecare-oss/redlock',
  waits: true,
  variants: {
    defaults: { about: 'defaults: tries 11 times, every 200 ± 100 ms' },
    tuned: {
      about: '`retryCount: -1` (without a limit), `retryDelay: 10`, `retryJitter: 5`',
      settings: { retryCount: -1, retryDelay: 10, retryJitter: 5 },
      only: 'waiting',
    },
    once: { hidden: true, settings: { retryCount: 0 } },
  },

  open: openWith({ Redlock, ExecutionError }),
};
