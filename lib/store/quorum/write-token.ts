import { LockStoreError } from '../../errors/index.js';
import type { AcquireRequest } from '../lock-store.js';
import type { FenceReply } from '../quorum-member.js';
import { nthLargest, SHORTEST_GRACE, type QuorumContext } from './round.js';
import type { Grant, Vote } from './vote.js';
import type { Votes } from './votes.js';

/**
 * How many times a token is raised above the tokens that other holders got in the meantime, and by how much more each time.
 */
const MOST_RAISES = 6;
const RAISE = 8;

/**
 * Writes the largest token that any master has named to a majority. Any two majorities share a master. So a later
 * holder's token is larger, whatever the masters' clocks show. `undefined`: no majority accepted it.
 * @throws LockStoreError if others that share the lock were faster each time
 */
export async function writeToken(
  context: QuorumContext,
  { key, batchSize }: AcquireRequest,
  votes: Votes,
): Promise<Grant | undefined> {
  // Masters that did not grant the lock count as well: they may remember a token that the others have lost.
  let token = Math.max(...votes.all.map(({ grant, lastToken }) => Math.max(grant?.token ?? 0, lastToken + 1)));
  for (let raises = 0; raises <= MOST_RAISES; raises += 1) {
    const written = await write(context, votes, token, batchSize);
    if (typeof written !== 'number') return written;
    // Another holder that shares the lock has got this token in the meantime. Others may be raising theirs now.
    token = written + 1 + Math.floor(context.random() * RAISE ** raises);
  }
  throw new LockStoreError(`other holders of '${key}' took too many fencing tokens in the meantime`, {
    key,
    transient: true,
  });
}

/** Resolves to the majority that has accepted the token, or to the largest token of the masters that have refused it. */
async function write(
  { quorum, clock }: QuorumContext,
  votes: Votes,
  token: number,
  batchSize: number,
): Promise<Grant | number | undefined> {
  /** What the masters have replied; `undefined`: nothing yet. */
  const replies = new Map<Vote, FenceReply | undefined>();
  const send = async (vote: Vote): Promise<void> => {
    replies.set(vote, undefined);
    try {
      replies.set(vote, await vote.fence(token, batchSize));
      votes.countServerOnce(vote);
    } catch (error) {
      replies.set(vote, { outcome: 'not-held' });
      if (!vote.isOpen) vote.fail(error as Error);
    }
    votes.bell.ring();
  };
  while (votes.ended === undefined && votes.areMajority) {
    const { held } = votes;
    // A vote that comes meanwhile gets the token, too: one of the first masters may have crashed after its grant.
    for (const vote of held) if (!replies.has(vote)) void send(vote);
    const having = held.flatMap((vote) => {
      const { grant } = vote;
      return grant?.token === token && replies.get(vote)?.outcome === 'written' ? [grant] : [];
    });
    const until = nthLargest(
      quorum,
      having.map((grant) => grant.until),
    );
    if (until !== undefined) {
      const isBatch = having.every((grant) => grant.batchSize > 1);
      const from = Math.min(...having.map((grant) => grant.from));
      return { token, batchSize: isBatch ? batchSize : 1, until, from };
    }
    const open = held.filter((vote) => replies.get(vote) === undefined).length;
    if (having.length + open < quorum) {
      const known = [...replies.values()].flatMap((reply) => (reply?.outcome === 'refused' ? [reply.lastToken] : []));
      return known.length > 0 ? Math.max(...known) : undefined;
    }
    // A connection that is lost rings no bell.
    await votes.bell.rung(clock.now() + SHORTEST_GRACE);
  }
  return undefined;
}
