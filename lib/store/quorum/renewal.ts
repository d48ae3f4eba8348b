import type { RenewReply, RenewRequest } from '../lock-store.js';
import { gather, graceAfter } from './gather.js';
import type { QuorumContext } from './quorum-context.js';
import { tallyRenewal } from './tally.js';

/** Asks all masters to renew leases. */
export const askRenewals = (
  { members }: QuorumContext,
  requests: readonly RenewRequest[],
): Array<Promise<readonly RenewReply[]>> => members.map((member) => member.ask((store) => store.renew(requests)));

/**
 * What becomes of leases that all masters were asked to renew. Where one has lost a hold it may be a slow one that decides, and then it is waited for as
 * long as a command may take: whoever gave it less would lose a hold that a majority has, by one renewal after the other.
 * Those that are decided do not wait for that; what is not decided yet is an error then, and is asked for again by itself.
 */
export function renewByMajority(
  { quorum, clock }: QuorumContext,
  requests: readonly RenewRequest[],
  asks: ReadonlyArray<Promise<readonly RenewReply[]>>,
): Promise<RenewReply[]> {
  let tallies: Array<RenewReply | undefined> = [];
  const grace = (ms: number): number | undefined =>
    tallies.every((tally) => tally === undefined) ? undefined : graceAfter(ms);
  return gather(asks, { quorum, clock, graceAfter: grace }, (answers, last) => {
    tallies = requests.map((_, i) => tallyRenewal(answers, i, quorum, last));
    return tallies.includes(undefined) ? undefined : (tallies as RenewReply[]);
  });
}

/** Sets a lease anew at all masters; waits for a slow one as a renewal does. */
export function extendByMajority(
  { members, quorum, clock }: QuorumContext,
  request: RenewRequest,
): Promise<RenewReply> {
  const asks = members.map((member) => member.ask(async (store) => [await store.extend(request)]));
  const terms = { quorum, clock, graceAfter: () => undefined };
  return gather(asks, terms, (answers, last) => tallyRenewal(answers, 0, quorum, last));
}
