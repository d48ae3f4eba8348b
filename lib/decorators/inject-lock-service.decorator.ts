import { Inject } from '@nestjs/common';
import { refuseUrls } from '../common/refuse-urls.js';
import { getLockServiceToken } from '../module/redis-lock.tokens.js';

/**
 * Injects the `LockService` of a named `RedisLockModule`:
 * `constructor(@InjectLockService('jobs') private readonly locks: LockService) {}`.
 * The one without a name needs no decorator: it is injected by its class.
 */
export function InjectLockService(name?: string): PropertyDecorator & ParameterDecorator {
  refuseUrls('@InjectLockService', name);
  return Inject(getLockServiceToken(name));
}
