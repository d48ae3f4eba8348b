import type { LockService } from '../../lib/service/lock.service.js';
import { eventually } from '../wait/eventually.mjs';

/**
 * Starts a service whose `commandTimeout` may be too short to connect on a busy machine: connecting goes on after that. A
 * test of a start that fails calls `start()` itself.
 */
export async function started(service: LockService): Promise<LockService> {
  const attempt = async (): Promise<{ error?: unknown }> => {
    try {
      await service.start();
      return {};
    } catch (error) {
      if (/could not be reached within/.test((error as Error).message)) throw error;
      return { error };
    }
  };
  const { error } = await eventually(attempt, { what: 'a service that has started' });
  if (error !== undefined) throw error;
  return service;
}
