// An application with nestjs-cls, on the built library. Prints what its locked methods saw, as JSON.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { currentLock, DistributedLock, LockService, RedisLockModule } from 'nestjs-redis-locks';

// It is CommonJS, like the imports of most applications that use it.
const { ClsModule, ClsService, ClsServiceManager } = createRequire(import.meta.url)('nestjs-cls');
const tenant = () => ClsServiceManager.getClsService().get('tenant');

const seen = {};

class Jobs {
  async run(work) {
    seen.key = currentLock().key;
    currentLock().signal.addEventListener('abort', () => (seen.signal = tenant()));
    return work();
  }
}
const lock = DistributedLock({ key: 'job', onContended: 'skip', onLost: () => (seen.onLost = tenant()) });
const descriptor = Object.getOwnPropertyDescriptor(Jobs.prototype, 'run');
lock(Jobs.prototype, 'run', descriptor);
Object.defineProperty(Jobs.prototype, 'run', descriptor);

class AppModule {}
Module({
  imports: [
    ClsModule.forRoot({ global: true }),
    RedisLockModule.forRootAsync({
      inject: [ClsService],
      useFactory: (cls) => ({ store: 'memory', keyBuilder: (key) => `${cls.get('tenant')}:${key}` }),
    }),
  ],
  providers: [Jobs],
})(AppModule);

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const [jobs, cls, locks] = [app.get(Jobs), app.get(ClsService), app.get(LockService)];
const as = (name, work) => cls.runWith({ tenant: name }, work);

let end;
const ended = new Promise((resolve) => (end = resolve));
let begin;
const begun = new Promise((resolve) => (begin = resolve));
const first = as('acme', () => jobs.run(() => (begin(), ended)));
await begun;
const key = seen.key;
const same = await as('acme', () => jobs.run(() => 'ran'));
const other = await as('other', () => jobs.run(tenant));
await as('operator', () => locks.forceRelease(key));
end();
const code = await first.catch((error) => error.code);
console.log(JSON.stringify({ key, same: same ?? 'skipped', other, code, signal: seen.signal, onLost: seen.onLost }));
await app.close();
