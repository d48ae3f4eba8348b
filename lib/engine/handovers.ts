import { LockConfigError, LockNotHeldError } from '../errors/index.js';
import type { AcquireReply } from '../store/lock-store.js';
import { repliedTooLate } from './refusals.js';
import { acquireRequest } from './hold-terms.js';
import type { Admission } from './admission.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, HoldTerms } from './hold.js';
import type { Grants } from './grants.js';
import type { IdTable } from './orphans.js';
import type { Releases } from './releases.js';
import { validUntil } from './lease-view.js';

/** A hold that is being offered to another client. */
export interface Offer {
  readonly hold: Hold;
  /** The id of the offer. */
  readonly id: string;
  /** For how many ms the offer stands. */
  readonly lease: number;
}

/** An adoption whose outcome is not known: it may stand in the store under this id. */
interface Adoption {
  readonly key: string;
  readonly id: string;
  isUnderWay: boolean;
}

/**
 * Passes holds from one client to another: the holder offers its hold, and one other client adopts it. Adoptions whose
 * outcome is not known are no orphans.
 */
export class Handovers implements IdTable {
  /** By the id of the offer, so that a call that is repeated asks under the same id. */
  private readonly adoptions = new Map<string, Adoption>();

  constructor(
    private readonly context: EngineContext,
    private readonly admission: Admission,
    private readonly grants: Grants,
    private readonly releases: Releases,
  ) {}

  /** Whether an adoption with this id may stand in the store. */
  has(id: string): boolean {
    for (const adoption of this.adoptions.values()) if (adoption.id === id) return true;
    return false;
  }

  /** @throws LockConfigError if the hold cannot be handed over; LockLostError */
  private assertAlone(hold: Hold): void {
    hold.assertHeld();
    const { key, owner, handles, terms } = hold;
    const again = handles > 1 || this.grants.all().some((other) => other !== hold && ownsToo(other, hold));
    const isShared = !hold.grant.isOnly(hold);
    const why = isShared
      ? 'other callers of this process share its hold: acquire it with `fair: true`, then it has a hold of its own'
      : again
        ? 'it is held several times by re-entry: release the other handles before'
        : terms.owner !== undefined
          ? `it has the owner '${owner}': call acquire('${key}', { owner: '${owner}' }) in the other process instead`
          : terms.holdAtLeast > 0
            ? 'it has holdAtLeast, which counts from the acquisition in this process: leave that option out'
            : undefined;
    if (why !== undefined) throw new LockConfigError(`'${key}' cannot be handed over, because ${why}.`, { key });
  }

  /**
   * Ends a hold in this client, and offers it to another one. See `offer`.
   * @throws LockConfigError if the hold cannot be handed over: then it stays; and what `offer` rejects with
   */
  start(offer: Offer): Promise<number> {
    const { hold } = offer;
    this.assertAlone(hold);
    // A release has no effect any more. Renewal stops before the offer is sent.
    void hold.releaseWith(() => false);
    this.grants.offer(hold);
    const next = hold.grant.users?.ended(hold);
    const offered = this.offer(offer);
    next?.ask();
    return offered;
  }

  /**
   * Offers a hold that has ended in this client. May be repeated after a failure. Resolves to the ms that are left.
   * @throws LockLostError if the store does not know the hold; LockConfigError if its owner holds the key elsewhere, too;
   * LockStoreError if the store does not reply
   */
  async offer({ hold, id: offer, lease }: Offer): Promise<number> {
    const { store, events } = this.context;
    const { key, grant } = hold;
    const { id } = grant;
    // If it fails, the hold may still stand under its old id, and waits for the next call.
    const reply = await this.admission.replied(store.offer({ key, id, offer, lease }));
    this.grants.remove(hold);
    if (typeof reply === 'number') {
      events.released(hold);
      const tombstone = this.releases.tombstoneFor(grant.epoch);
      if (tombstone > 0) this.releases.leave(key, id, tombstone);
      return reply;
    }
    if (reply === 'not-held') {
      hold.lose('unknown-at-handover');
      throw hold.loss!;
    }
    hold.lose('shared-at-handover');
    for (const each of [id, offer]) this.releases.leave(key, each, 0);
    throw new LockConfigError(
      `'${key}' cannot be handed over, because another process holds it under the same owner. It has been released here.`,
      { key },
    );
  }

  /**
   * Takes over the hold that another client has offered. May be repeated after a failure.
   * @throws LockNotHeldError if the offer was taken, or its time is over; LockStoreError if the store does not reply
   */
  async adopt(key: string, terms: HoldTerms, offer: string): Promise<Hold> {
    const refusal = this.admission.refusal(key, { waitTimeout: 0, signal: undefined });
    if (refusal !== undefined) throw refusal;
    const { context } = this;
    const { store, clock } = context;
    const adoption = this.adoptions.get(offer) ?? { key, id: context.identity.nextId(terms), isUnderWay: false };
    if (adoption.isUnderWay) throw notOffered(key, 'another call of this process is adopting it');
    adoption.isUnderWay = true;
    this.adoptions.set(offer, adoption);
    const { id } = adoption;
    const sent = clock.now();
    const { epoch } = store;
    const request = { ...acquireRequest(context, key, id, terms), adopts: offer };
    let reply: AcquireReply;
    try {
      reply = await this.admission.replied(store.acquire(request));
    } catch (error) {
      adoption.isUnderWay = false;
      // Until then the store may have executed it, or may yet: the hold waits for the next call, and is no orphan.
      if (this.has(id)) this.forgetAt(offer, clock.now() + terms.lease + 2 * context.limits.commandTimeout);
      throw error;
    }
    // It has been released.
    if (!this.adoptions.delete(offer)) throw this.admission.closing!;
    if (reply.outcome !== 'held') {
      throw notOffered(key, 'another process has adopted it, it was released by force, or its deadline is over');
    }
    if (validUntil(sent, reply.lease) <= clock.now()) {
      this.releases.leave(key, id, 0);
      throw repliedTooLate(key, reply.lease);
    }
    const hold = this.grants.addFor({ key, terms }, id, reply, sent, epoch);
    // The holder has released some of its permits, and the store does not know yet.
    if (store.permits !== undefined && (reply.units ?? 0) > hold.units)
      this.releases.sendUnits(hold.grant).catch(() => undefined);
    context.events.acquired(hold, sent, false);
    return hold;
  }

  /** No call has repeated the adoption: its lease is over, and the store need not remember it either. */
  private forgetAt(offer: string, at: number): void {
    this.context.timers.add(at, () => {
      const adoption = this.adoptions.get(offer);
      if (adoption?.isUnderWay !== false) return;
      this.adoptions.delete(offer);
      this.releases.leave(adoption.key, adoption.id, 0);
    });
  }

  /** Releases what the store may have for adoptions whose outcome is not known, since no caller will get it. */
  dismissAll(): void {
    const tombstone = 2 * this.context.limits.commandTimeout;
    for (const { key, id } of this.adoptions.values()) this.releases.leave(key, id, tombstone);
    this.adoptions.clear();
  }
}

/** Whether two holds have the same key and owner. */
const ownsToo = (one: Hold, other: Hold): boolean => one.key === other.key && one.owner === other.owner;

const notOffered = (key: string, why: string): LockNotHeldError =>
  new LockNotHeldError(`'${key}' cannot be adopted: ${why}. Acquire the lock instead.`, { key });
