// @ts-check
import { eventually } from './eventually.mjs';

/**
 * Starts a service whose `commandTimeout` may be too short to connect on a busy machine: connecting continues after that. A
 * test of a start that fails calls `start()` itself.
 * @template {{ start(): Promise<unknown> }} Service
 * @param {Service} service
 * @returns {Promise<Service>}
 */
export async function started(service) {
  const attempt = async () => {
    try {
      await service.start();
      return {};
    } catch (error) {
      if (/could not be reached within/.test(/** @type {Error} */ (error).message)) throw error;
      return { error };
    }
  };
  const { error } = await eventually(attempt, { what: 'a service that has started' });
  if (error !== undefined) throw error;
  return service;
}
