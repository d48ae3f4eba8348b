import type { LockStoreListener, PushedGrant } from '../store/lock-store.js';
import type { AcquireParts } from './key-queue.js';
import type { Latches } from './latches.js';
import type { Watchdog } from './watchdog.js';

/** Passes each message of the store to the part that it is for. */
export class StoreMessages implements LockStoreListener {
  constructor(
    private readonly parts: AcquireParts,
    private readonly watchdog: Watchdog,
    private readonly latches: Latches | undefined,
  ) {}

  granted(grant: PushedGrant): void {
    const { tickets, orphans } = this.parts;
    const ticket = tickets.get(grant.id);
    if (ticket !== undefined) ticket.pushed(grant);
    else orphans.release(grant.key, [grant.id]);
  }

  retryAfter(id: string, delay: number): void {
    this.parts.tickets.get(id)?.retryAfter(delay);
  }

  revoked(id: string, token = Infinity, by?: string, next?: string): void {
    const { grants, tickets } = this.parts;
    const grant = grants.get(id);
    // A message about an earlier grant of this acquisition may arrive late.
    if (grant !== undefined && token >= grant.firstToken) grant.lose('forced', by, next);
    tickets.get(id)?.revoked();
  }

  yield(id: string): void {
    const { grants, tickets } = this.parts;
    const grant = grants.get(id);
    grant?.close();
    grant?.users?.closeGrants();
    tickets.get(id)?.yield();
  }

  opened(key: string, latch: string): void {
    this.latches?.opened(key, latch);
  }

  doubted(concerns: (key: string) => boolean): void {
    this.watchdog.renewNow(this.parts.grants.all().filter(({ key }) => concerns(key)));
  }

  restored(concerns?: (key: string) => boolean): void {
    const { grants, tickets } = this.parts;
    if (concerns === undefined) {
      this.watchdog.renewNow(grants.all());
      this.parts.context.identity.restored();
    }
    // Behind the renewals, which are sent together in a microtask: a hold that is not renewed may end, a place does not.
    queueMicrotask(() => {
      tickets.askForAll(concerns);
      if (concerns === undefined) this.latches?.askNow();
    });
  }
}
