import 'reflect-metadata';

const MODE = { label: 'nestjs-redis-locks', variants: ['defaults'] };

const load = () => import('nestjs-redis-locks');

export default {
  title: 'nestjs-redis-locks',
  waits: true,
  modes: Object.fromEntries(['read', 'readWrite', 'permit'].map((mode) => [mode, MODE])),
  variants: {
    defaults: { about: 'defaults: lease 30 s with renewal, no polling, `waitTimeout` 10 s' },
    background: {
      about:
        "`release: 'background'`: a caller that asks again in the same turn takes its lock over, for 10 ms at most",
      settings: { release: 'background' },
      only: 'waiting',
    },
    patient: { hidden: true, settings: { waitTimeout: Infinity } },
    once: { hidden: true, settings: { waitTimeout: 0 } },
  },

  load,

  async open({ connection, settings, module = {}, providers = [] }) {
    const { RedisLockModule, LockService } = await load();
    const { NestFactory } = await import('@nestjs/core');
    const redis = connection.redis();
    const root = {
      module: class Root {},
      imports: [RedisLockModule.forRoot({ connection: redis, ...module })],
      providers,
    };
    const app = await NestFactory.createApplicationContext(root, { logger: false });
    const locks = app.get(LockService);
    return {
      app,
      locks,
      async acquire(key, request) {
        try {
          if (settings?.release === 'background') return await enter(locks, key);
          return await locks.acquire(key, request === undefined ? settings : { ...settings, ...optionsOf(request) });
        } catch (error) {
          if (error.code === 'LOCK_TIMEOUT') return undefined;
          throw error;
        }
      },
      async release(handle) {
        if (handle.leave !== undefined) return handle.leave();
        if (!(await handle.release())) throw new Error(`${handle.key} had been lost`);
      },
      async close() {
        await app.close();
        redis.disconnect();
      },
    };
  },
};

const optionsOf = ({ kind, permits }) => (kind === 'permit' ? { permits } : { kind });

/** A call of `run` in two halves: its work lasts from `enter` until `leave`. */
function enter(locks, key) {
  return new Promise((resolve, reject) => {
    const call = locks.run(
      key,
      () =>
        new Promise((end) => {
          const leave = () => {
            end();
            return call;
          };
          resolve({ leave });
        }),
      { release: 'background' },
    );
    call.catch(reject);
  });
}
