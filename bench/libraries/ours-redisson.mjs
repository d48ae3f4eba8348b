import ours from './ours.mjs';

export default {
  title: 'nestjs-redis-locks, redisson()',
  waits: true,
  variants: {
    defaults: { about: 'defaults, with `protocol: redisson()`: an `RLock`' },
    fair: { about: '`fair: true`: an `RFairLock`', settings: { fair: true } },
    once: { hidden: true, settings: { waitTimeout: 0 } },
  },

  async open(terms) {
    const { redisson } = await import('nestjs-redis-locks/redisson');
    return ours.open({ ...terms, module: { protocol: redisson() } });
  },
};
