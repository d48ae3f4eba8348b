import { outside } from '../common/outside.js';
import { settledBy } from '../common/settle.js';
import { TransientMap, TransientSet } from '../common/transient.js';
import type { LocalQueue } from './local-queue.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, HoldTerms } from './hold.js';
import type { HoldRegistry } from './hold-registry.js';
import type { HoldReleases } from './hold-releases.js';

/** A hold whose holder is done, and whose release has not been sent. */
interface IdleHold {
  readonly hold: Hold;
  /** Settles the release of the hold. */
  readonly ended: (result: boolean | Promise<boolean>) => void;
}

/**
 * Releases whose callers do not wait for the answer. A release leaves in the turn of the event loop in which the work has
 * ended. Until then a caller of this client takes the lock over without a command, under the conditions of a local handoff.
 */
export class BackgroundReleases {
  private readonly idle = new TransientMap<string, IdleHold>();
  private readonly underWay = new TransientSet<Promise<boolean>>();
  private isScheduled = false;
  private readonly sendAtEndOfTurn = (): void => {
    this.isScheduled = false;
    this.sendAll();
  };

  constructor(
    private readonly context: EngineContext,
    private readonly holds: HoldRegistry<LocalQueue>,
    private readonly releases: HoldReleases,
  ) {}

  /**
   * Releases a hold; resolves to whether it was held until then. A failure is logged, and a caller need not handle it.
   * Afterwards the hold has a loss if its lease was over.
   */
  release(hold: Hold): Promise<boolean> {
    return hold.releaseWith(() => {
      if (!hold.isHeld || this.idle.has(hold.key) || !this.mayBeUsedAgain(hold)) return this.end(hold);
      const released = new Promise<boolean>((ended) => this.idle.set(hold.key, { hold, ended }));
      released.catch(() => undefined);
      this.schedule();
      return released;
    });
  }

  /**
   * A caller asks for a key. Returns its hold if it takes over the hold of a call that has ended in this turn. Otherwise the
   * release of that hold is sent now, so that it arrives before the request.
   */
  takeOver(terms: HoldTerms): Hold | undefined {
    const idle = this.idle.get(terms.key);
    if (idle === undefined) return undefined;
    const { mode, owner, fair } = terms;
    const isPlain = mode.kind === 'exclusive' && owner === undefined && !fair;
    // Observers of the handoff may acquire or release this key again.
    this.idle.delete(terms.key);
    const next = isPlain ? this.holds.queueOf(idle.hold.id)?.takeOver(idle.hold, terms) : undefined;
    idle.ended(next === undefined ? this.end(idle.hold) : true);
    return next;
  }

  /** Sends the release of a key that has not been sent. */
  send(key: string): void {
    const idle = this.idle.get(key);
    if (idle === undefined) return;
    this.idle.delete(key);
    idle.ended(this.end(idle.hold));
  }

  /** Sends all releases that have not been sent. */
  sendAll(): void {
    for (const { hold } of this.idle.values()) this.send(hold.key);
  }

  /** Resolves when all releases are answered, or at `deadline`. */
  async settled(deadline: number): Promise<void> {
    this.sendAll();
    if (this.underWay.size === 0) return;
    await settledBy(this.context.timers, { at: deadline }, Promise.allSettled(this.underWay.values()));
  }

  /** Whether a caller of this turn could take the hold over, or share it. */
  private mayBeUsedAgain(hold: Hold): boolean {
    const { shared, terms, id } = hold;
    if (shared !== undefined) return shared.isOnly(hold) && shared.admits(terms);
    return this.holds.queueOf(id)?.mayBeTakenOver(hold) === true;
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    // Behind all microtasks, and so behind the code that awaits the call which has ended.
    outside(() => process.nextTick(this.sendAtEndOfTurn));
  }

  private end(hold: Hold): Promise<boolean> {
    const { clock } = this.context;
    const letProcessExit = clock.keepAlive();
    const result = this.releases.end(hold);
    this.underWay.add(result);
    const answered = (): void => {
      letProcessExit();
      this.underWay.delete(result);
    };
    result.then(answered, (error: unknown) => {
      answered();
      this.releases.reportFailure(hold, error);
    });
    return result;
  }
}
