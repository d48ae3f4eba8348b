import type { HoldMode } from '../lock-store.js';

/** A request for a lock, or a hold: the owner and the mode. As in `lua/shared/modes.lua`. */
export interface Claim {
  readonly id: string;
  readonly owner: string;
  readonly mode: HoldMode;
}

/** A claim that was granted. */
export interface GrantedClaim extends Claim {
  /** Whether it is released already, and its key stays locked for the rest of its `holdAtLeast`. */
  readonly kept: boolean;
}

const owns = (holds: readonly GrantedClaim[], { owner }: Claim, kind: HoldMode['kind']): boolean =>
  holds.some((hold) => hold.owner === owner && hold.mode.kind === kind && !hold.kept);

/** Whether the owner holds the lock in a mode that admits the request: an exclusive holder may also read. */
export function reenters(holds: readonly GrantedClaim[], request: Claim): boolean {
  const { kind } = request.mode;
  if (kind === 'permits') return false;
  return owns(holds, request, 'exclusive') || (kind === 'read' && owns(holds, request, 'read'));
}

/** Whether a reader requests the exclusive lock. It would wait for itself. */
export const upgrades = (holds: readonly GrantedClaim[], request: Claim): boolean =>
  request.mode.kind === 'exclusive' && owns(holds, request, 'read') && !owns(holds, request, 'exclusive');

/** Whether the current holds admit the request. `limit`: the number of permits that was set at run time. */
export function admits(holds: readonly GrantedClaim[], request: Claim, limit: number | undefined): boolean {
  const { mode } = request;
  if (mode.kind !== 'permits' && (holds.length === 0 || reenters(holds, request))) return true;
  if (mode.kind === 'exclusive' || holds.some((hold) => hold.mode.kind !== mode.kind)) return false;
  if (mode.kind === 'read') return true;
  return mode.units > 0 && mode.units <= freePermits(holds, mode, limit);
}

/** How many permits are free; none beside holds that are no permits. */
export function freePermits(holds: readonly GrantedClaim[], mode: HoldMode, limit: number | undefined): number {
  const used = holds.reduce((sum, hold) => sum + (hold.mode.kind === 'permits' ? hold.mode.units : Infinity), 0);
  return limitFor(mode, limit) - used;
}

/** The number of permits in use. */
export const usedPermits = (holds: readonly GrantedClaim[]): number =>
  holds.reduce((sum, { mode }) => sum + unitsOf(mode), 0);

export const unitsOf = (mode: HoldMode): number => (mode.kind === 'permits' ? mode.units : 0);

/** The number of permits: as set at run time, otherwise as the request states. */
export const limitFor = (mode: HoldMode, limit: number | undefined): number =>
  limit ?? (mode.kind === 'permits' ? mode.limit : 0);

/**
 * Whether a request asks for more permits than exist. It would wait forever, and block all tickets behind it. With a
 * limit of 0 the semaphore is paused, and every request waits.
 */
export function exceedsLimit({ mode }: Claim, limit: number | undefined): boolean {
  const total = limitFor(mode, limit);
  return mode.kind === 'permits' && total > 0 && mode.units > total;
}

/** Whether the lock is held exclusively, so that no other owner can be granted. */
export const isClosed = (holds: readonly GrantedClaim[]): boolean =>
  holds.some((hold) => hold.mode.kind === 'exclusive');
