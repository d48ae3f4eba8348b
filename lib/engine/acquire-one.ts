import { outside } from '../common/outside.js';
import type { AcquireQueues } from './acquire-queues.js';
import type { Admission } from './admission.js';
import type { BackgroundReleases } from './background-releases.js';
import type { Confirmations } from './confirmations.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, HoldTerms } from './hold.js';
import type { HoldRegistry } from './hold-registry.js';
import type { LocalQueue } from './local-queue.js';
import type { WaitTerms } from './waiter.js';

/** So many callers get a hold without a command before the event loop continues: it takes them some milliseconds. */
const MOST_IN_TURN = 1_000;

interface AcquireOneParts {
  readonly context: EngineContext;
  readonly admission: Admission;
  readonly holds: HoldRegistry<LocalQueue>;
  readonly queues: AcquireQueues;
  readonly confirmations: Confirmations;
  readonly background: BackgroundReleases;
}

/** Acquires one key: waits in its queue, and then for the replicas that the caller asks for. */
export class AcquireOne {
  /** How many callers have got a hold without a command in this turn of the event loop. */
  private takenInTurn = 0;

  constructor(private readonly parts: AcquireOneParts) {}

  /**
   * Waits for a hold.
   * @throws LockTimeoutError, LockStoreError, or the reason of the caller's signal
   */
  acquire(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    if (terms.replicas === undefined) return this.acquireUnconfirmed(terms, wait);
    const { context, confirmations } = this.parts;
    const since = context.clock.now();
    return this.acquireUnconfirmed(terms, wait).then(async (hold) => {
      await confirmations.confirm([hold], since, wait);
      return hold;
    });
  }

  /** Like `acquire`. The replicas that the caller asks for need not have the hold yet. */
  acquireUnconfirmed(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    const { admission, background, queues } = this.parts;
    const refusal = admission.refusal(wait);
    if (refusal !== undefined) return Promise.reject(refusal);
    const taken = this.share(terms) ?? background.takeOver(terms);
    return taken === undefined ? queues.wait(terms, wait) : this.inItsTurn(taken);
  }

  /** Callers that acquire and release without a command would keep the event loop from everything else. */
  private inItsTurn(hold: Hold): Promise<Hold> {
    if (this.takenInTurn === 0) {
      outside(() =>
        setImmediate(() => {
          this.takenInTurn = 0;
        }),
      );
    }
    this.takenInTurn += 1;
    if (this.takenInTurn <= MOST_IN_TURN) return Promise.resolve(hold);
    return new Promise((resolve) => setImmediate(resolve, hold));
  }

  /** Joins the readers that share a hold of this client, without a command. */
  private share(terms: HoldTerms): Hold | undefined {
    const { context, holds } = this.parts;
    const shared = holds.shared.openFor(terms);
    if (shared === undefined) return undefined;
    const hold = holds.share(shared, terms);
    context.events.acquired(hold, hold.acquiredAt);
    return hold;
  }
}
