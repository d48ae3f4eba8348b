import type { RenewReply, RenewRequest } from '../lock-store.js';
import { gather, graceAfter } from './gather.js';
import type { QuorumContext } from './quorum-context.js';
import { askEach } from './round.js';
import { tallyRenewal } from './tally.js';

/** Asks all masters to renew leases. */
export const askRenewals = (
  { members }: QuorumContext,
  requests: readonly RenewRequest[],
): Array<Promise<readonly RenewReply[]>> => askEach(members, (store) => store.renew(requests));

/**
 * Decides each lease that all masters were asked to renew. If one master has lost a hold, a slow master may decide; it
 * gets the whole time of a command. With less time, a hold that a majority has could be lost by one renewal after the
 * other. Leases that are decided do not wait for it. A lease that is not decided yet gets an error, and is renewed
 * again separately.
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
