import { excludes } from '../../checker/terms.mjs';
import type { Hold } from '../../../lib/engine/hold.js';
import type { Process } from '../world/process.js';

/** One caller's hold of one key, from its grant until the caller has released it or learned of its loss. */
export interface ObservedHold {
  readonly hold: Hold;
  readonly process: Process;
  /** The states of the server and of the holder when they were last compared. */
  compared: { version: number; until: number };
}

/** Whether the holder would continue its section now. Stalled holders check later, and dead ones never. */
export function isValid({ hold, process: { machine, clock } }: ObservedHold): boolean {
  return !machine.dead && hold.state === 'held' && clock.says < hold.validUntil;
}

/** Whether two must not hold one key together. Permits are counted apart. */
export function conflicts({ hold: one }: ObservedHold, { hold: other }: ObservedHold): boolean {
  const kinds = [one.terms.mode.kind, other.terms.mode.kind];
  // The members of a batch share the id of the grant and its owner.
  const mayShare = !kinds.includes('permits') && one.id !== other.id && one.owner === other.owner;
  return excludes(kinds[0]!, kinds[1]!) && !mayShare;
}

export const nameOf = ({ hold, process }: ObservedHold): string =>
  `${process.name} with token ${hold.token} (${hold.id})`;
