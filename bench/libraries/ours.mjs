import 'reflect-metadata';

const load = () => import('nestjs-redis-locks');

export default {
  title: 'nestjs-redis-locks',
  waits: true,
  variants: {
    defaults: { about: 'defaults: lease 30 s with renewal, no polling, `waitTimeout` 10 s' },
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
      async acquire(key) {
        try {
          return await locks.acquire(key, settings);
        } catch (error) {
          if (error.code === 'LOCK_TIMEOUT') return undefined;
          throw error;
        }
      },
      async release(handle) {
        if (!(await handle.release())) throw new Error(`${handle.key} had been lost`);
      },
      async close() {
        await app.close();
        redis.disconnect();
      },
    };
  },
};
