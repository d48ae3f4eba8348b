import { isLockNotHeldError, isLockStoreError } from '../../../lib/errors/index.js';
import { HeldLock } from '../../../lib/service/handles/held-lock.js';
import type { ObservedHold } from '../checker/observed-hold.js';
import { TIMES } from '../schedule/schedule.js';
import type { Process } from '../world/process.js';
import { PLAIN, type Caller } from './caller.js';
import type { Letter } from './letters.js';

/** ms for which an offer stands, and after which a request that failed is repeated. */
const WITHIN = TIMES.lease;
const REPEATED_AFTER = 20;

/** Repeats a request once if the store has failed. */
async function orAgain<T>(process: Process, first: Promise<T>, repeat: () => Promise<T>): Promise<T> {
  try {
    return await first;
  } catch (error) {
    if (!isLockStoreError(error)) throw error;
    await process.sleep(REPEATED_AFTER);
    return repeat();
  }
}

/** Offers a lock to the other processes. From then on, the caller does not hold it any more. */
export async function handOver({ process, visit, run }: Caller, observed: ObservedHold): Promise<void> {
  const { checker, letters, outcomes, trace, world } = run;
  const { hold } = observed;
  const { key, terms } = hold;
  // The text of a handover is random, and a run is not.
  const offer = { hold, id: `handover:${hold.id}/${hold.token}`, lease: WITHIN };
  const { handovers } = process.engine;
  trace(() => `${process.name} offers ${key} (${hold.id})`);
  const offered = handovers.start(offer);
  checker.tries.had(key, world.now + 4 * WITHIN);
  try {
    await orAgain<unknown>(process, offered, () => handovers.offer(offer));
    outcomes.offered += 1;
    letters.post({ from: process, key, mode: terms.mode, offer: offer.id });
    // The checker would notice if the hold were still valid here.
    await process.sleep(visit.section);
  } finally {
    checker.ends(observed);
  }
}

/** Adopts a lock that another process has offered, unless a third one was faster, and holds it for a section. */
export async function adopt(caller: Caller, { key, mode, offer }: Letter): Promise<void> {
  const { process, visit, run } = caller;
  const { checker, outcomes, trace } = run;
  const floor = checker.tokens.floor(key, mode.kind);
  const take = () => process.engine.handovers.adopt(key, { ...PLAIN, mode }, offer);
  trace(() => `${process.name} adopts ${key} (${offer})`);
  try {
    const hold = await orAgain(process, take(), take);
    outcomes.adopted += 1;
    trace(() => `${process.name} has adopted ${key} with token ${hold.token} (${hold.id})`);
    const handles = [new HeldLock(hold, process.engine)];
    const observedHolds = [checker.granted(hold, process, floor)];
    await process.sleep(visit.section);
    await caller.releaseAll({ handles, observedHolds });
  } catch (error) {
    if (!isLockNotHeldError(error)) caller.refused(error);
  }
}
