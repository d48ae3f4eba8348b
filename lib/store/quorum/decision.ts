import type { AcquireRequest } from '../lock-store.js';
import type { MemberState } from './votes.js';

/** `impossible`: so many masters fail or refuse that there can be no majority, whatever other clients do. */
export type QuorumDecision = 'held' | 'impossible' | 'contended';

export const heldAt = (states: readonly MemberState[], now: number): MemberState[] =>
  states.filter((state) => state.holdsAt(now));

/** How many masters have a known state. */
export const answeredAt = (states: readonly MemberState[], now: number): number =>
  states.filter((state) => state.isAnswered || state.holdsAt(now)).length;

/**
 * The decision that follows from the replies so far; `undefined`: it depends on pending replies. With `last` set, these
 * are not awaited.
 */
export function decisionOf(
  states: readonly MemberState[],
  quorum: number,
  now: number,
  last: boolean,
): QuorumDecision | undefined {
  const held = heldAt(states, now).length;
  if (held >= quorum) return 'held';
  const open = last ? 0 : states.filter((state) => state.isOpen && !state.holdsAt(now)).length;
  if (held + open >= quorum) return undefined;
  return states.filter((state) => state.isExcluded).length > states.length - quorum ? 'impossible' : 'contended';
}

/** Whether other clients have so many votes that this acquisition cannot get a majority. */
export function hasRival(states: readonly MemberState[], quorum: number, { id, mode }: AcquireRequest): boolean {
  const votes = new Map<string, number>();
  for (const { isOpen, holders } of states) {
    if (isOpen) continue;
    for (const holder of holders) votes.set(holder, (votes.get(holder) ?? 0) + 1);
  }
  votes.delete(id);
  const rivals = [...votes.values()].filter((count) => count >= quorum).length;
  return rivals >= (mode.kind === 'permits' ? mode.limit - mode.units + 1 : 1);
}

/** The refusal of so many masters that there can be no majority, if its reason lies in the request. */
export function refusalOf(states: readonly MemberState[], quorum: number): 'upgrade' | 'left' | undefined {
  const most = states.length - quorum;
  const excluded = states.filter(({ isExcluded }) => isExcluded);
  return (['upgrade', 'left'] as const).find(
    (outcome) => excluded.filter(({ standing }) => standing === outcome).length > most,
  );
}
