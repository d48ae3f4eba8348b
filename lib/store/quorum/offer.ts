import type { OfferReply, OfferRequest, RenewReply } from '../lock-store.js';
import { gather, valuesOf } from './gather.js';
import type { MemberState } from './member-state.js';
import type { QuorumContext } from './quorum-context.js';
import { Round } from './round.js';
import { tallyRenewal } from './tally.js';

/**
 * Offers a hold on all masters. Waits for a slow one as a renewal does. A master on which the old id has a place in
 * the queue, or may still get a vote, gets a tombstone behind the offer.
 * @throws LockStoreError if so many masters fail that the rest is no majority
 */
export async function offerByMajority(
  { members, quorum, clock, commandTimeout }: QuorumContext,
  request: OfferRequest,
  states: readonly MemberState[] | undefined,
): Promise<OfferReply> {
  const { key, id } = request;
  const round = new Round();
  const asks = members.map((member, i) => {
    const offered = round.ask(member, (store) => store.offer(request));
    const state = states?.[i];
    if (state?.mayAnswer === true || state?.standing === 'queued') {
      const tombstone = { key, id, tombstoneFor: 2 * commandTimeout, keep: 0, next: undefined };
      member.tell((store) => store.release(tombstone)).catch(() => undefined);
    }
    return offered;
  });
  const terms = { quorum, clock, graceAfter: () => undefined };
  const reply = await gather<OfferReply, RenewReply | 'shared'>(asks, terms, (answers, last) => {
    if (valuesOf(answers).includes('shared')) return 'shared';
    const leases = answers.map((answer) =>
      answer !== undefined && 'value' in answer ? { value: [answer.value as RenewReply] } : answer,
    );
    return tallyRenewal(leases, 0, quorum, last);
  });
  if (reply instanceof Error) throw reply;
  return reply;
}
