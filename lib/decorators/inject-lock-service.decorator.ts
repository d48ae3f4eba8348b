import { Inject } from '@nestjs/common';
import { getLockServiceToken } from '../module/redis-lock.tokens.js';

/**
 * Injects the `LockService` of a named `RedisLockModule`:
 * `constructor(@InjectLockService('jobs') private readonly locks: LockService) {}`.
 * The service of the instance without a name needs no decorator: Nest injects it by its class.
 */
export function InjectLockService(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockServiceToken(name));
}
