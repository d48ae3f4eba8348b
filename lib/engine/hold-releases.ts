import { outside } from '../common/async-context.js';
import { messageOf } from '../common/describe.js';
import { settledBy } from '../common/settle.js';
import { inSlices } from '../common/slices.js';
import { TransientMap, TransientSet } from '../common/transient.js';
import type { Hold, HoldTerms } from './hold.js';
import type { EngineContext } from './engine-context.js';
import type { Grants } from './grants.js';
import { permitsFixed } from './refusals.js';
import type { Releases } from './releases.js';

/** The holder of a grant is done, and the release leaves at the end of the turn. */
interface Idle {
  readonly hold: Hold;
  /** Settles the release. */
  readonly ended: (result: boolean | Promise<boolean>) => void;
}

/**
 * Releases holds: hands them to the next local waiter, or releases them in the store. A release whose caller does not wait for
 * the reply leaves at the end of the turn of the event loop. Until then its grant is idle, and a caller of this client may take
 * it over without a command, under the conditions of a local handoff.
 */
export class HoldReleases {
  /** The holders whose grants are idle, by key. */
  private readonly idle = new TransientMap<string, Idle>();
  private readonly underWay = new TransientSet<Promise<boolean>>();
  private isScheduled = false;
  private readonly sendAtEndOfTurn = (): void => {
    this.isScheduled = false;
    this.sendAll();
  };

  constructor(
    private readonly context: EngineContext,
    private readonly grants: Grants,
    private readonly releases: Releases,
  ) {}

  /**
   * Releases a hold; returns whether it was held until now. No promise if the next local waiter gets the lock.
   * @throws LockStoreError if the store does not reply
   */
  release(hold: Hold): boolean | Promise<boolean> {
    return handOff(hold) || hold.releaseWith(() => this.end(hold));
  }

  /**
   * Like `release`, for a caller that does not wait. A failure is logged, and a caller need not handle it. Afterwards the hold
   * has a loss if its lease was over.
   */
  releaseInBackground(hold: Hold): boolean | Promise<boolean> {
    if (handOff(hold)) return true;
    return hold.releaseWith(() => {
      const { grant, key } = hold;
      if (!hold.isHeld || this.idle.has(key) || grant.users?.mayTakeOver(hold) !== true)
        return this.endUnattended(hold);
      const released = new Promise<boolean>((ended) => this.idle.set(key, { hold, ended }));
      released.catch(() => undefined);
      if (!this.isScheduled) {
        this.isScheduled = true;
        // Behind all microtasks, and so behind the code that awaits the call which has ended.
        outside(() => process.nextTick(this.sendAtEndOfTurn));
      }
      return released;
    });
  }

  /**
   * A caller asks for a key. Returns its hold if it takes over the idle grant of a call that has ended in this turn. Otherwise
   * the release of that grant is sent now, so that it arrives before the request.
   */
  takeOver(key: string, terms: HoldTerms): Hold | undefined {
    const idle = this.wake(key);
    if (idle === undefined) return undefined;
    const next = idle.hold.grant.users?.takeOver(idle.hold, terms);
    idle.ended(next === undefined ? this.endUnattended(idle.hold) : true);
    return next;
  }

  /** Sends the release of a key that has not been sent. */
  send(key: string): void {
    const idle = this.wake(key);
    idle?.ended(this.endUnattended(idle.hold));
  }

  /** Sends all releases that have not been sent. */
  sendAll(): void {
    for (const { hold } of this.idle.values()) this.send(hold.key);
  }

  /** Resolves when the releases whose callers do not wait have their replies, or at `deadline`. */
  async settled(deadline: number): Promise<void> {
    this.sendAll();
    if (this.underWay.size === 0) return;
    await settledBy(this.context.timers, { at: deadline }, Promise.allSettled(this.underWay.values()));
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
    const { grant } = hold;
    hold.releaseUnits(count);
    const kept = await this.releases.sendUnits(grant, () => this.keepOf(hold));
    if (kept === 'not-held' && hold.state === 'held') grant.lose('unknown-at-unit-release');
    hold.assertHeld();
  }

  /** Logs a release that failed where no caller gets the error. */
  reportFailure({ key }: Hold, error: unknown): void {
    const then = this.releases.retries(error)
      ? 'the client tries again until its lease ends'
      : 'it ends with its lease';
    this.context.logger.warn(`'${key}' could not be released, so ${then}: ${messageOf(error)}`);
  }

  /** Ends all holds under their holders, and releases them in the background, in slices if there are very many. */
  endAll(): Promise<void> {
    this.grants.giveBackAll();
    return inSlices(this.grants.all(), (hold) => {
      const { grant, key } = hold;
      // Its holder may have released it between two slices.
      if (!grant.has(hold)) return;
      hold.lose('shutdown');
      // The loss of the last hold of a shared grant releases it.
      if (grant.capacity !== 'one') return;
      const request = { key, id: grant.id, tombstoneFor: 0, keep: this.keepOf(hold), next: undefined };
      void this.releases.sendInBackground(request);
    });
  }

  /** The grant of a key is idle no more. */
  private wake(key: string): Idle | undefined {
    const idle = this.idle.get(key);
    // Observers of a handoff may acquire or release this key again.
    if (idle !== undefined) this.idle.delete(key);
    return idle;
  }

  /** Ends a hold whose caller does not wait for the reply. */
  private endUnattended(hold: Hold): Promise<boolean> {
    const letProcessExit = this.context.clock.keepAlive();
    const result = this.end(hold);
    this.underWay.add(result);
    const settled = (): void => {
      letProcessExit();
      this.underWay.delete(result);
    };
    result.then(settled, (error: unknown) => {
      settled();
      this.reportFailure(hold, error);
    });
    return result;
  }

  /**
   * Ends a hold that no local waiter gets, and sends the release. Call it once for each hold.
   * @throws LockStoreError if the store does not reply
   */
  private async end(hold: Hold): Promise<boolean> {
    const { store, events } = this.context;
    const { key, grant } = hold;
    const tombstoneFor = this.releases.tombstoneFor(grant.epoch);
    if (!hold.end()) {
      // The store may still have it. Its reply changes nothing for the caller, which does not wait for it.
      if (grant.capacity === 'one') this.releases.leave(key, grant.id, tombstoneFor);
      else this.grants.giveBack(hold);
      return false;
    }
    // Renewal stops before the release is sent, or after a failed release the watchdog would renew the hold forever.
    this.grants.remove(hold);
    const { epoch } = store;
    let wasKnown: boolean;
    try {
      wasKnown = await (grant.isEmpty ? this.sendRelease(hold, tombstoneFor) : this.sendShare(hold));
    } catch (error) {
      events.unreleased(hold, (error as Error).message);
      throw error;
    }
    // A release whose reply was lost is sent again, and finds nothing the second time.
    if (!wasKnown && store.epoch === epoch) {
      hold.lose('unknown-at-release');
      grant.lose('unknown-at-release');
      return false;
    }
    events.released(hold);
    return true;
  }

  /** Releases the grant of the last hold, and sends the request of the next waiter with it. Resolves to whether it was known. */
  private async sendRelease(hold: Hold, tombstoneFor: number): Promise<boolean> {
    const { store, clock } = this.context;
    const { key, grant } = hold;
    const next = grant.users?.ended(hold);
    const { epoch } = store;
    const request = { key, id: grant.id, tombstoneFor, keep: this.keepOf(hold), next: next?.request() };
    const sent = next === undefined ? 0 : clock.now();
    const pending = this.releases.send(request, grant.lease.lastsUntil, grant.id);
    next?.await(
      pending.then((reply) => reply.next as NonNullable<typeof reply.next>),
      sent,
      epoch,
    );
    return (await pending).released;
  }

  /** Releases the permits of a hold whose grant others use, which keep it. Resolves to whether it was known. */
  private async sendShare({ grant, units }: Hold): Promise<boolean> {
    if (units === 0 || (await this.releases.sendUnits(grant)) !== 'not-held') return true;
    // After NOSCRIPT, the command is sent again, behind the release of the last caller that uses the grant. What that
    // release finds says whether the hold was lost.
    await this.releases.ofHold(grant.id)?.catch(() => undefined);
    return !grant.isHeld && grant.state !== 'lost';
  }

  /** For how many ms the key stays taken after the release. */
  private keepOf({ acquiredAt, terms }: Hold): number {
    if (terms.holdAtLeast === 0) return 0;
    return Math.max(0, Math.ceil(acquiredAt + terms.holdAtLeast - this.context.clock.now()));
  }
}

/** Hands a hold to the next local waiter; `false`: that is not possible, and nothing has changed. */
const handOff = (hold: Hold): boolean => hold.grant.users?.handOff(hold) === true;
