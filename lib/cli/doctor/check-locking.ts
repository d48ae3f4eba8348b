import type { Session } from '../session.js';
import { ok, problem, type Finding } from './finding.js';

/** The lease of the trial lock, in case this process ends before the release, and the time that Redis has to grant it. */
const LEASE = 5_000;

/** Acquires and releases a lock of its own, as a service does. */
export async function checkLocking({ locks }: Session, id: string): Promise<Finding> {
  const since = performance.now();
  try {
    const lock = await locks.acquire(`doctor:${id}`, { expire: LEASE, waitTimeout: LEASE });
    const taken = performance.now();
    const held = await lock.release();
    if (!held)
      return problem('a lock', 'the lock disappeared before its release', 'find out what deletes or evicts keys');
    const [taking, giving] = [taken - since, performance.now() - taken];
    return ok('a lock', `acquired in ${taking.toFixed(1)} ms, released in ${giving.toFixed(1)} ms`);
  } catch (error) {
    return problem('a lock', `could not be acquired: ${(error as Error).message}`, 'see the other findings');
  }
}
