import type { ForceReleaseReply } from '../lock-store.js';
import { gather, refuseMinority, valuesOf, type Answers } from './gather.js';
import type { QuorumContext } from './quorum-context.js';

/**
 * For so many ms at least no vote of a hold that was ended by force is taken again: its client hears of the end within
 * one renewal.
 */
const REVOKED_MEMORY = 60_000;

/**
 * Ends on each master the holds that it has now. A master that tells its holds only after the others have decided ends
 * those alone that the others have named: all others may have been granted since.
 * @throws LockStoreError when so many masters fail that those left are no majority
 */
export async function forceReleaseEverywhere(
  { members, quorum, clock }: QuorumContext,
  key: string,
): Promise<ForceReleaseReply> {
  const looks = members.map((member) => member.ask(async (store) => (await store.inspect(key)).holds));
  const inTime = await gather(looks, { quorum, clock }, all(quorum));
  const named = new Set(valuesOf(inTime).flatMap((holds) => holds.map(({ id }) => id)));
  const endings = members.map(async (member, i) => {
    const holds = (await looks[i]!).filter(({ id }) => named.has(id));
    return member.ask((store) => store.endHolds(key, holds, REVOKED_MEMORY));
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
