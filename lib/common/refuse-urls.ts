import { LockConfigError } from '../errors/index.js';
import { isAddress } from './credentials.js';

/**
 * A name is printed, and a URL may hold a password.
 * @throws LockConfigError
 */
export function refuseUrls(label: string, name: unknown): void {
  if (typeof name !== 'string' || !isAddress(name)) return;
  throw new LockConfigError(
    `${label} is a URL: where Redis is stands in RedisLockModule.forRoot({ name: 'jobs', connection: url }), ` +
      "and everywhere else its name, such as 'jobs'.",
  );
}
