import { foreign } from './foreign.mjs';

export default foreign({
  title: 'Redisson RFairLock',
  program: 'java',
  kind: 'fair-lock',
  variants: {
    defaults: { about: 'defaults: `getFairLock`, `lock()`: as `getLock`, in the order of arrival' },
    leased: {
      about: '`lock(30, SECONDS)`: a lease of its own, so no watchdog',
      settings: { lease: 30_000 },
    },
    once: { hidden: true, settings: { tries: 1 } },
  },
});
