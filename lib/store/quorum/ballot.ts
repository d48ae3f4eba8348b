import type { AcquireRequest } from '../lock-store.js';
import type { Seat } from './seat.js';

/** `impossible`: so many masters fail or refuse that there can be no majority, whatever others do. */
export type Verdict = 'held' | 'impossible' | 'contended';

export const heldAt = (seats: readonly Seat[], now: number): Seat[] => seats.filter((seat) => seat.holdsAt(now));

/** How many masters have said how it stands with them. */
export const answeredAt = (seats: readonly Seat[], now: number): number =>
  seats.filter((seat) => seat.isAnswered || seat.holdsAt(now)).length;

/**
 * What the answers so far come to; `undefined`: that depends on those that are on their way. With `last` these are not
 * waited for.
 */
export function verdictOf(seats: readonly Seat[], quorum: number, now: number, last: boolean): Verdict | undefined {
  const held = heldAt(seats, now).length;
  if (held >= quorum) return 'held';
  const open = last ? 0 : seats.filter((seat) => seat.isOpen && !seat.holdsAt(now)).length;
  if (held + open >= quorum) return undefined;
  return seats.filter((seat) => seat.isExcluded).length > seats.length - quorum ? 'impossible' : 'contended';
}

/** Whether so many others have a majority that there is no place for this one. */
export function hasRival(seats: readonly Seat[], quorum: number, { id, mode }: AcquireRequest): boolean {
  const votes = new Map<string, number>();
  for (const { isOpen, holders } of seats) {
    if (isOpen) continue;
    for (const holder of holders) votes.set(holder, (votes.get(holder) ?? 0) + 1);
  }
  votes.delete(id);
  const rivals = [...votes.values()].filter((count) => count >= quorum).length;
  return rivals >= (mode.kind === 'permits' ? mode.limit - mode.units + 1 : 1);
}

/** Who, as far as is known, has what this one does not have. */
export const othersIn = (seats: readonly Seat[]): string =>
  seats
    .flatMap(({ holders }) => holders)
    .sort()
    .join(' ');
