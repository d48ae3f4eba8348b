import { TransientMap, TransientSet } from '../common/transient.js';
import type { IdTable } from './orphans.js';
import type { Ticket } from './ticket.js';

/** The tables of what this client is acquiring: tickets by id, and the queues in which callers wait. */
export class PendingAcquisitions<Queue> implements IdTable {
  readonly tickets = new TransientMap<string, Ticket>();
  /** Queues that all exclusive requests for a key share. */
  readonly sharedQueues = new TransientMap<string, Queue>();
  /** Queues of one request each. */
  readonly separateQueues = new TransientSet<Queue>();
  /** Ids of acquisitions that were sent together, for several keys in one step. */
  readonly setIds = new Set<string>();

  has(id: string): boolean {
    return this.tickets.has(id) || this.setIds.has(id);
  }
}
