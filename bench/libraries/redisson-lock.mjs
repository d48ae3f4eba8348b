import { foreign } from './foreign.mjs';

export default foreign({
  title: 'Redisson RLock',
  program: 'java',
  kind: 'lock',
  modes: {
    read: { label: 'Redisson RReadWriteLock (JVM)', variants: ['defaults', 'leased'] },
    readWrite: { label: 'Redisson RReadWriteLock (JVM)', variants: ['defaults', 'leased'] },
    permit: { label: 'Redisson RSemaphore (JVM)', variants: ['defaults'] },
  },
  variants: {
    defaults: { about: 'defaults: `getLock`, `lock()`: lease 30 s with a watchdog, a message for each release' },
    leased: {
      about: '`lock(30, SECONDS)`: a lease of its own, so no watchdog',
      settings: { lease: 30_000 },
    },
    spin: {
      about: '`getSpinLock`: no messages; tries again after 1 to 128 ms, which double',
      settings: { kind: 'spin-lock' },
      only: 'waiting',
    },
    once: { hidden: true, settings: { tries: 1 } },
  },
});
