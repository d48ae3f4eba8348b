import type { Hold } from '../../lib/engine/hold.js';
import type { Process } from '../world/process.js';

/**
 * One caller's hold of one key, from the moment it is granted until the caller has released it or learned that it is
 * lost.
 */
export interface Belief {
  readonly hold: Hold;
  readonly process: Process;
  /** The states of the server and of the holder when they were last compared. */
  compared: { version: number; until: number };
}

/** The holder would go on with its section now. A stalled one does not look, and a dead one never will. */
export function isBelieved({ hold, process: { machine, clock } }: Belief): boolean {
  return !machine.dead && hold.state === 'held' && clock.says < hold.validUntil;
}

/** Whether two must not hold one key together. Permits are counted apart. */
export function conflicts({ hold: one }: Belief, { hold: other }: Belief): boolean {
  const kinds = [one.terms.mode.kind, other.terms.mode.kind];
  if (kinds.includes('permits')) return kinds[0] !== kinds[1];
  if (kinds[0] === 'read' && kinds[1] === 'read') return false;
  // Callers that hold it in turn share the id of the grant, and its owner.
  return one.id === other.id || one.owner !== other.owner;
}

export const nameOf = ({ hold, process }: Belief): string => `${process.name} with token ${hold.token} (${hold.id})`;
