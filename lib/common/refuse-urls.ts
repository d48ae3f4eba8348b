import { LockConfigError } from '../errors/index.js';
import { isAddress } from './credentials.js';

/**
 * Refuses a URL where a name is expected. Names are printed, and a URL may contain a password.
 * @throws LockConfigError
 */
export function refuseUrls(label: string, name: unknown): void {
  if (typeof name !== 'string' || !isAddress(name)) return;
  throw new LockConfigError(
    `${label} is a URL. Write the URL in RedisLockModule.forRoot({ instance: 'jobs', connection: url }), ` +
      "and everywhere else the name, such as 'jobs'.",
  );
}
