import { Subject } from 'rxjs';
import { systemClock } from './common/clock.js';
import { singleLine, type LockLogger } from './common/logger.js';
import { LockEngine } from './engine/lock-engine.js';
import type { LockEvent } from './engine/lock-event.js';
import { LockService } from './lock.service.js';
import type { ResolvedModuleOptions } from './redis-lock.options.js';
import { RedisStore } from './store/redis/redis-store.js';

/** Puts one instance together: store, engine, service. Nothing is sent before `start()` or the first lock. */
export function createLockService(options: ResolvedModuleOptions, log: LockLogger): LockService {
  const logger = singleLine(log);
  const { name, commandTimeout, grantTimeout, shutdownTimeout, lockWatchdogTimeout, defaults } = options;
  const events = new Subject<LockEvent>();
  const engine = new LockEngine({
    store: new RedisStore(options, logger),
    clock: systemClock,
    random: Math.random,
    logger,
    events,
    commandTimeout,
    grantTimeout,
  });
  return new LockService(engine, events.asObservable(), {
    name,
    shutdownTimeout,
    defaults: { ...defaults, lockWatchdogTimeout },
  });
}
