import type { LockService } from '../service/lock.service.js';
import type { ResolvedModuleOptions } from './redis-lock.options.js';

/** The line that a client logs once at its start. By these names other processes, Redis and the CLI know it. */
export function introduction(
  { instance: name, clientId, label }: Pick<LockService, 'instance' | 'clientId' | 'label'>,
  { keyPrefix, protocol }: Pick<ResolvedModuleOptions, 'keyPrefix' | 'protocol'>,
): string {
  const prefix = protocol === undefined ? `, prefix '${keyPrefix}'` : '';
  return `locks '${name}': client ${clientId}, label ${label}${prefix}`;
}
