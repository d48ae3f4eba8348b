import { isLockConfigError, type LockConfigError } from '../../errors/index.js';
import {
  chooser,
  type HoldChoice,
  type ListReply,
  type ListRequest,
  type ForceReleaseReply,
  type OfferReply,
  type OfferRequest,
  type RenewReply,
  type RenewRequest,
} from '../lock-store.js';
import type { Membership } from './membership.js';
import {
  askEach,
  gather,
  gatherAll,
  graceAfter,
  orAfter,
  refuseMinority,
  Round,
  tallyRenewal,
  valuesOf,
  type QuorumContext,
} from './round.js';
import type { MemberState } from './votes.js';

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
  context: QuorumContext,
  key: string,
  hold?: HoldChoice,
  by?: string,
): Promise<ForceReleaseReply> {
  const { members } = context;
  const looks = askEach(members, async (store) => (await store.inspect(key)).holds);
  const inTime = await gatherAll(looks, context);
  const found = valuesOf(inTime).flatMap((holds) => holds.filter(chooser(hold)));
  const named = new Set(found.map(({ id }) => id));
  const ending = new Round();
  const endings = members.map(async (member, i) => {
    const holds = (await looks[i]!).filter(({ id }) => named.has(id));
    return ending.ask(member, (store) => store.endHolds(key, holds, by, REVOKED_MEMORY));
  });
  const replies = valuesOf(await gatherAll(endings, context));
  return {
    holds: Math.max(...replies.map(({ holds }) => holds)),
    told: Math.max(...replies.map(({ told }) => told)),
  };
}

/** The cursor of each master; `null`: it has listed all its keys. */
type Cursors = ReadonlyArray<string | null>;

/**
 * Lists the keys that any master knows. Each master continues from its own cursor. A master that fails is not asked
 * again in this round: another one also knows each key that a majority holds.
 * @throws LockStoreError if no majority answers
 */
export async function listKeys(masters: QuorumContext, { cursor, budget }: ListRequest): Promise<ListReply> {
  const { members } = masters;
  const cursors = cursor === '' ? members.map(() => '') : (JSON.parse(cursor) as Cursors);
  const round = new Round();
  const asks = members.map(async (member, i): Promise<ListReply | undefined> => {
    const place = cursors[i] ?? null;
    return place === null ? undefined : round.ask(member, (store) => store.list({ cursor: place, budget }));
  });
  const answers = await gatherAll(asks, masters);
  const parts = valuesOf(answers).filter((part) => part !== undefined);
  const next = answers.map((answer) =>
    answer !== undefined && 'value' in answer ? (answer.value?.cursor ?? null) : null,
  );
  return {
    keys: [...new Set(parts.flatMap(({ keys }) => keys))],
    cursor: next.every((each) => each === null) ? undefined : JSON.stringify(next),
    time: parts[0]?.time ?? Date.now(),
  };
}

/** After a majority has started, the others get this many ms to show that they are not independent. */
const START_GRACE = 250;

/**
 * Connects all masters, and finds out whether they are independent servers. Resolves when a majority is ready.
 * @throws LockConfigError if masters are not independent; LockStoreError if no majority can be reached
 */
export async function startMasters(membership: Membership, context: QuorumContext): Promise<void> {
  const { members, quorum, clock } = context;
  let unusable: LockConfigError | undefined;
  const refuse = (): void => {
    const refusal = unusable ?? membership.refusal;
    if (refusal !== undefined) throw refusal;
  };
  const starts = members.map(async (member) => {
    try {
      await member.store.start();
    } catch (error) {
      if (isLockConfigError(error)) unusable ??= error;
      throw error;
    }
    await member.admit();
  });
  await gather(starts, { quorum, clock }, (answers, last) => {
    refuse();
    refuseMinority(answers, quorum);
    return last || valuesOf(answers).length >= quorum ? true : undefined;
  });
  await orAfter(clock, START_GRACE, Promise.allSettled(starts), []);
  refuse();
  membership.hasStarted = true;
}
