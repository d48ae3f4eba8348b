import type { Session } from '../session.js';
import { ok, problem, type Finding } from './finding.js';

/** The lease of the trial lock, in case this process ends before the release. */
const LEASE = 5_000;

/** Acquires and releases a lock of its own, as a service does. */
export async function checkLocking({ locks }: Session, id: string): Promise<Finding> {
  const since = performance.now();
  try {
    const lock = await locks.acquire(`doctor:${id}`, { expire: LEASE, waitTimeout: 0 });
    const taken = performance.now();
    const held = await lock.release();
    if (!held) return problem('a lock', 'a lock that was just taken was gone', 'see what deletes or evicts keys');
    const [taking, giving] = [taken - since, performance.now() - taken];
    return ok('a lock', `taken in ${taking.toFixed(1)} ms, given back in ${giving.toFixed(1)} ms`);
  } catch (error) {
    return problem('a lock', `could not be taken: ${(error as Error).message}`, 'see the other findings');
  }
}
