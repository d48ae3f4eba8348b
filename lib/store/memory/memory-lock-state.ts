import type { AcquireRequest, ContendedReply, HeldReply } from '../lock-store.js';
import { MAX_HOLDERS } from '../protocol.generated.js';
import { MemoryHolds, type MemoryHold } from './memory-holds.js';
import { MemoryLimit } from './memory-limit.js';
import { admits } from './memory-modes.js';
import { MemoryQueue, type MemoryTicket } from './memory-queue.js';
import { clientOf, type MemoryServer } from './memory-server.js';
import { MemoryTombstones } from './memory-tombstones.js';

/** A request with its owner: its own id, unless it names another one. */
export type OwnedRequest = AcquireRequest & { readonly owner: string };

/** What a grant takes from a request or a ticket. */
type Claimant = Pick<MemoryTicket, 'id' | 'owner' | 'mode' | 'batchSize'>;

export const ownedRequest = (request: AcquireRequest): OwnedRequest => ({
  ...request,
  owner: request.owner ?? request.id,
});

export const findHold = (holds: readonly MemoryHold[], id: string): MemoryHold | undefined =>
  holds.find((hold) => hold.id === id);

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

  /** Writes a new hold with the next fencing token, and reserves one token for each waiter of its batch. */
  grant(holds: MemoryHold[], { id, owner, mode, batchSize }: Claimant, lease: number, pushed = false): MemoryHold {
    const { now } = this.server;
    const token = this.server.nextToken(this.key, lease, batchSize);
    const hold = { id, owner, mode, kept: false, pushed, token, since: now, ends: now + lease };
    holds.push(hold);
    this.holds.write(hold);
    this.holds.keepAsLongAs(holds);
    if (mode.kind === 'permits') this.limit.used();
    return hold;
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

  held({ token, ends }: MemoryHold, batchSize = 1): HeldReply {
    const { now } = this.server;
    return { outcome: 'held', time: now, token, lease: ends - now, batchSize };
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
