import { LockConfigError } from '../errors/index.js';
import { isAddress } from './credentials.js';

/**
 * Refuses a URL where a name is expected.
 * @throws LockConfigError
 */
export function refuseUrls(label: string, name: unknown): void {
  if (typeof name !== 'string' || !isAddress(name)) return;
  throw new LockConfigError(
    `${label} is a URL or a login, which may contain a password, and names are printed: write a name, such as 'jobs', and the ` +
      'URL in the option connection.',
  );
}
