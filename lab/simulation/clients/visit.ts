import { act } from './acts.js';
import { isInTurn, type Caller, type Held } from './caller.js';
import { Candidate } from './candidate.js';
import { adopt } from './handovers.js';

/** The way of a caller through one section. Rejects with any error that must not happen. */
export async function makeVisit(caller: Caller): Promise<void> {
  const { process, visit, surroundings } = caller;
  await process.sleep(visit.pause);
  if (process.closing) return;
  surroundings.outcomes.visits += 1;
  const letter = surroundings.letters.take(process);
  if (letter !== undefined) await adopt(caller, letter);
  if (process.closing) return;
  if (visit.candidacy !== undefined) return new Candidate(caller, visit.candidacy).go();
  let held: Held;
  try {
    held = await caller.take(caller.keys, caller.terms(), visit.waitTimeout);
  } catch (error) {
    return caller.refused(error);
  }
  surroundings.outcomes.held += 1;
  if (held.handles.length === 1 && isInTurn(held.observedHolds[0]!.hold)) surroundings.outcomes.inTurn += 1;
  await process.sleep(visit.section / 2);
  await act(caller, held);
  await process.sleep(visit.section / 2);
  if (visit.act !== 'abandon') await caller.releaseAll(held);
}
