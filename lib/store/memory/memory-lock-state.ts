import {
  UNCONTENDED_BATCH_SIZE,
  type AcquireRequest,
  type ContendedReply,
  type HeldReply,
  type HoldMode,
} from '../lock-store.js';
import { MAX_HOLDERS } from '../protocol.generated.js';
import { MemoryHolds, type MemoryHold } from './memory-holds.js';
import { MemoryLimit } from './memory-limit.js';
import { admits, freePermits } from './memory-modes.js';
import { MemoryQueue, type MemoryTicket } from './memory-queue.js';
import { clientOf, type MemoryServer } from './memory-server.js';
import { MemoryTombstones } from './memory-tombstones.js';

/** A request with its owner: its own id, unless it names another one. */
export type OwnedRequest = AcquireRequest & { readonly owner: string };

/** What a grant takes from a request or a ticket. */
type Claimant = Pick<MemoryTicket, 'id' | 'owner' | 'mode' | 'batchSize' | 'fair' | 'slots'>;

export const ownedRequest = (request: AcquireRequest): OwnedRequest => ({
  ...request,
  owner: request.owner ?? request.id,
});

export const findHold = (holds: readonly MemoryHold[], id: string): MemoryHold | undefined =>
  holds.find((hold) => hold.id === id);

/** The part of a grant that says how many permits it gives. */
export const permitsOf = (mode: HoldMode): Pick<HeldReply, 'units'> =>
  mode.kind === 'permits' ? { units: mode.units } : {};

/** The stored state of one lock, with the functions of `lua/shared/holds.lua` that read and write it. */
export class MemoryLockState {
  readonly holds = new MemoryHolds();
  readonly queue = new MemoryQueue();
  readonly tombstones: MemoryTombstones;
  readonly limit: MemoryLimit;

  constructor(
    readonly key: string,
    readonly server: MemoryServer,
  ) {
    this.tombstones = new MemoryTombstones(server);
    this.limit = new MemoryLimit(server);
  }

  /** Whether nothing is stored. */
  isEmpty(now: number): boolean {
    return !this.holds.exist(now) && !this.queue.exists(now) && !this.tombstones.exist && !this.limit.isSet;
  }

  admits(holds: readonly MemoryHold[], request: OwnedRequest | MemoryTicket): boolean {
    return admits(holds, request, this.limit.value);
  }

  /**
   * Writes a new hold with the next fencing token, and reserves one token for each waiter of its batch, and for each slot.
   */
  grant(holds: MemoryHold[], claimant: Claimant, lease: number, pushed = false): MemoryHold {
    const { now } = this.server;
    const { id, owner, batchSize } = claimant;
    const slots = this.slotsFor(holds, claimant);
    const asked = claimant.mode;
    const mode = asked.kind === 'permits' ? { ...asked, units: slots * asked.units } : asked;
    const token = this.server.nextToken(this.key, lease, batchSize, slots);
    const alone = !pushed && mode.kind === 'permits' && batchSize >= UNCONTENDED_BATCH_SIZE;
    const hold = { id, owner, mode, kept: false, pushed, alone, token, since: now, ends: now + lease };
    holds.push(hold);
    this.holds.write(hold);
    this.holds.keepAsLongAs(holds);
    if (mode.kind === 'permits') this.limit.used();
    return hold;
  }

  /** How many of its waiters a grant to a client serves at the same time. */
  private slotsFor(holds: readonly MemoryHold[], { mode, slots = 1, fair }: Claimant): number {
    if (mode.kind !== 'permits' || fair || slots === 1 || this.queue.hasFair(this.server.now)) return 1;
    return Math.max(1, Math.min(slots, Math.floor(freePermits(holds, mode, this.limit.value) / mode.units)));
  }

  /** Grants a request as the reply. */
  grantNow(holds: MemoryHold[], request: OwnedRequest, batchSize = request.batchSize): HeldReply {
    const hold = this.grant(holds, { ...request, batchSize }, request.lease);
    return this.held(hold, this.batchSizeOf(hold));
  }

  /** Removes expired holds. If other clients wait, the clients that have not taken their pushed grants are passed over. */
  dropEnded(ended: readonly MemoryHold[], asker: string | undefined): void {
    const { now } = this.server;
    for (const { id } of ended) this.holds.delete(id, now);
    if (!this.queue.exists(now)) return;
    const clients = ended.filter(({ pushed }) => pushed).map(({ id }) => clientOf(id));
    this.queue.passOver(clients.filter((client) => asker === undefined || client !== clientOf(asker)));
  }

  /** How many tokens the last grant reserved, if `hold` got it. */
  batchSizeOf({ token }: MemoryHold): number {
    return this.server.lastToken(this.key) - token + 1;
  }

  held({ token, ends, mode }: MemoryHold, batchSize = 1): HeldReply {
    const { now } = this.server;
    return { outcome: 'held', time: now, token, lease: ends - now, batchSize, ...permitsOf(mode) };
  }

  /** Has holders end their batches, as `lua/shared/end-batches.lua` does. `isMeant`: whether the message is for a hold. */
  endBatches(holds: readonly MemoryHold[], isMeant: (hold: MemoryHold) => boolean): void {
    const meant = holds.filter((each) => !each.kept && isMeant(each)).slice(0, MAX_HOLDERS);
    for (const hold of meant) hold.alone = false;
    this.tellToYield(meant);
  }

  tellToYield(holds: readonly MemoryHold[]): void {
    for (const { id } of holds) this.server.tell(id, (client) => client.yield(id));
  }

  notHeld(outcome: ContendedReply['outcome'], holds: readonly MemoryHold[], retryAt: number): ContendedReply {
    const { now } = this.server;
    const holders = holds.slice(0, MAX_HOLDERS).filter(({ kept }) => !kept);
    return {
      outcome,
      time: now,
      retryAfter: retryAt - now,
      lastToken: this.server.lastToken(this.key),
      holders: holders.map(({ id }) => id),
    };
  }
}
