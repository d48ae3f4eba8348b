import { chooser, type HoldChoice } from '../hold-choice.js';
import type { ForceReleaseReply } from '../lock-store.js';
import { gather, refuseMinority, valuesOf, type Answers } from './gather.js';
import type { QuorumContext } from './quorum-context.js';
import { askEach, Round } from './round.js';

/**
 * A master refuses votes for a hold that was ended by force for at least this many ms. The hold's client learns of the
 * end within one renewal.
 */
const REVOKED_MEMORY = 60_000;

/**
 * Ends on each master the holds that exist now, or only those with the ids in `hold`. A master that lists its holds after
 * the others have decided ends only holds that the others have named. Its other holds may be newer.
 * @throws LockStoreError if so many masters fail that the rest is no majority
 */
export async function forceReleaseEverywhere(
  { members, quorum, clock }: QuorumContext,
  key: string,
  hold?: HoldChoice,
  by?: string,
): Promise<ForceReleaseReply> {
  const looks = askEach(members, async (store) => (await store.inspect(key)).holds);
  const inTime = await gather(looks, { quorum, clock }, all(quorum));
  const found = valuesOf(inTime).flatMap((holds) => holds.filter(chooser(hold)));
  const named = new Set(found.map(({ id }) => id));
  const ending = new Round();
  const endings = members.map(async (member, i) => {
    const holds = (await looks[i]!).filter(({ id }) => named.has(id));
    return ending.ask(member, (store) => store.endHolds(key, holds, by, REVOKED_MEMORY));
  });
  const replies = valuesOf(await gather(endings, { quorum, clock }, all(quorum)));
  return {
    holds: Math.max(...replies.map(({ holds }) => holds)),
    told: Math.max(...replies.map(({ told }) => told)),
  };
}

/** Waits for all masters that answer in time. */
const all =
  (quorum: number) =>
  <T>(answers: Answers<T>, last: boolean): Answers<T> | undefined => {
    refuseMinority(answers, quorum);
    return last ? [...answers] : undefined;
  };
