import { inSlices } from '../common/slices.js';
import { outside } from '../common/outside.js';
import type { ReleaseReply } from '../store/lock-store.js';
import type { LocalQueue } from './local-queue.js';
import type { EngineContext } from './engine-context.js';
import type { Hold } from './hold.js';
import type { HoldRegistry } from './hold-registry.js';
import { permitsFixed } from './permits-fixed.js';
import type { Releases } from './releases.js';
import type { UnitReleases } from './unit-releases.js';

/** The result of a release by handoff. Made outside of all scopes, so that it keeps no async context. */
const HANDED_OFF = outside(() => Promise.resolve(true));

/** Releases holds: hands them to the next local waiter, or releases them in the store. */
export class HoldReleases {
  constructor(
    private readonly context: EngineContext,
    private readonly holds: HoldRegistry<LocalQueue>,
    private readonly releases: Releases,
    private readonly units: UnitReleases,
  ) {}

  /**
   * Releases a hold; resolves to whether it was held until now.
   * @throws LockStoreError if the store does not answer
   */
  release(hold: Hold): Promise<boolean> {
    return hold.releaseWith(() => this.end(hold));
  }

  /**
   * Releases some of the permits of a hold. A failed command is repeated while the hold is held, but the promise rejects with
   * the first failure.
   * @throws LockLostError, LockStoreError, LockConfigError if the store cannot do that
   */
  async releaseUnits(hold: Hold, count: number): Promise<void> {
    const { permits, lacks } = this.context.store;
    if (permits === undefined) throw permitsFixed(lacks);
    hold.assertHeld();
    hold.keepUnits(hold.units - count);
    hold.shared?.unitsReleased(hold, count);
    const stored = this.holds.shared.get(hold.storeId) ?? hold;
    const kept = await this.units.send(stored, () => this.keepOf(hold));
    if (kept === 'not-held' && hold.state === 'held') stored.lose('unknown-at-unit-release');
    hold.assertHeld();
  }

  /** Hands a hold to the next local waiter in this step; `false`: that is not possible, and nothing has changed. */
  handOff(hold: Hold): boolean {
    if (this.holds.queueOf(hold.id)?.handOff(hold) !== true) return false;
    // A later release of this hold must not release the next one, which has the same id.
    void hold.releaseWith(() => HANDED_OFF);
    return true;
  }

  /** Logs a release that failed where no caller gets the error. */
  reportFailure({ key }: Hold, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const then = this.releases.retries(error)
      ? 'the client tries again until its lease ends'
      : 'it ends with its lease';
    this.context.logger.warn(`'${key}' could not be released, so ${then}: ${why}`);
  }

  /** Ends all holds under their holders, and releases them in the background, in slices if there are very many. */
  endAll(): Promise<void> {
    this.holds.giveBackAll();
    return inSlices(this.holds.all(), (hold) => {
      const { key, id } = hold;
      // Its holder may have released it between two slices.
      if (this.holds.get(id) !== hold) return;
      hold.lose('shutdown');
      // The loss of the last sharer releases it.
      if (hold.shared !== undefined) return;
      void this.releases.sendInBackground({ key, id, tombstoneFor: 0, keep: this.keepOf(hold), next: undefined });
    });
  }

  /** A hold has ended that shares a hold in the store with others, which keep it. */
  private async endShare(hold: Hold): Promise<boolean> {
    const { events, store } = this.context;
    const shared = this.holds.shared.get(hold.storeId);
    if (hold.units > 0 && shared !== undefined) {
      const { epoch } = store;
      const kept = await this.units.send(shared).catch((error: unknown) => {
        events.unreleased(hold, (error as Error).message);
        throw error;
      });
      if (kept === 'not-held' && store.epoch === epoch) {
        // After NOSCRIPT, the command is sent again, behind the release of the last caller that shares the hold. What that
        // release finds says whether the hold was lost.
        await this.releases.ofHold(shared.id)?.catch(() => undefined);
        if (shared.isHeld || shared.isLost) {
          hold.lose('unknown-at-release');
          shared.lose('unknown-at-release');
          return false;
        }
      }
    }
    events.released(hold);
    return true;
  }

  /**
   * Ends a hold: hands it to the next local waiter, or sends the release. Call it once for each hold.
   * @throws LockStoreError if the store does not answer
   */
  async end(hold: Hold): Promise<boolean> {
    const { store, clock, events } = this.context;
    const { key, storeId: id, shared } = hold;
    if (this.handOff(hold)) return true;
    const tombstoneFor = this.releases.tombstoneFor(hold.epoch);
    if (!hold.end()) {
      // The store may still have it. Its answer changes nothing for the caller, which does not wait for it.
      if (shared === undefined) this.releases.leave(key, id, tombstoneFor);
      else this.holds.giveBack(hold);
      return false;
    }
    const queue = this.holds.queueOf(hold.id);
    // Renewal stops before the release is sent, or after a failed release the watchdog would renew the hold forever.
    this.holds.remove(hold);
    if (shared?.isEmpty === false) return this.endShare(hold);
    const next = queue?.releasing(hold);
    const { epoch } = store;
    const request = { key, id, tombstoneFor, keep: this.keepOf(hold), next: next?.request() };
    const sent = next === undefined ? 0 : clock.now();
    const answer = this.releases.sendForHold(request, Math.max(hold.validUntil, shared?.lastsUntil ?? 0));
    next?.await(
      answer.then((reply) => reply.next as NonNullable<typeof reply.next>),
      sent,
      epoch,
    );
    let reply: ReleaseReply;
    try {
      reply = await answer;
    } catch (error) {
      events.unreleased(hold, (error as Error).message);
      throw error;
    }
    // A release whose answer was lost is sent again, and finds nothing the second time.
    if (!reply.released && store.epoch === epoch) {
      hold.lose('unknown-at-release');
      shared?.lose('unknown-at-release');
      return false;
    }
    events.released(hold);
    return true;
  }

  /** For how many ms the key stays taken after the release. */
  private keepOf({ acquiredAt, terms }: Hold): number {
    if (terms.holdAtLeast === 0) return 0;
    return Math.max(0, Math.ceil(acquiredAt + terms.holdAtLeast - this.context.clock.now()));
  }
}
