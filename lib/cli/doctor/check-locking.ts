import type { Session } from '../session.js';
import { ok, problem, type Finding } from './finding.js';

/** How long the trial lock would stay, should this process end; for so long Redis may be slow. */
const LEASE = 5_000;

/** Takes a lock of its own and gives it back, as a service does. */
export async function checkLocking({ locks }: Session, id: string): Promise<Finding> {
  const since = performance.now();
  try {
    const lock = await locks.acquire(`doctor:${id}`, { expire: LEASE, waitTimeout: LEASE });
    const taken = performance.now();
    const held = await lock.release();
    if (!held) return problem('a lock', 'a lock that was just taken was gone', 'see what deletes or evicts keys');
    const [taking, giving] = [taken - since, performance.now() - taken];
    return ok('a lock', `taken in ${taking.toFixed(1)} ms, given back in ${giving.toFixed(1)} ms`);
  } catch (error) {
    return problem('a lock', `could not be taken: ${(error as Error).message}`, 'see the other findings');
  }
}
