import { LockStoreError } from '../../errors/index.js';
import type { AcquireRequest } from '../lock-store.js';
import type { FenceReply, FenceRequest } from '../quorum-member.js';
import { gather, nthLargest, Round, valuesOf, type Answers, type QuorumContext } from './round.js';
import type { Majority, MemberState, Votes } from './votes.js';

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
  { key, id, batchSize: reserved }: AcquireRequest,
  votes: Votes,
  isWanted: () => boolean,
): Promise<Majority | undefined> {
  const { quorum, random } = context;
  // Masters that did not grant the lock count as well: they may remember a token that the others have lost.
  let token = Math.max(
    ...votes.held.map((state) => state.token),
    ...votes.states.map(({ lastToken }) => lastToken + 1),
  );
  for (let raises = 0; raises <= MOST_RAISES;) {
    const { held } = votes;
    if (held.length < quorum || !isWanted()) return undefined;
    const batchSize = held.every((state) => state.takesTurns) ? reserved : 1;
    const decided = await write(context, { key, id, token, batchSize: reserved }, held, votes);
    if (decided === 'written') {
      const having = votes.held.filter((state) => state.token === token);
      const until = nthLargest(
        having.map((state) => state.until),
        quorum,
      );
      // The validity may be over by now.
      if (until === undefined) return undefined;
      return { token, batchSize, until, from: Math.min(...having.map((state) => state.from)) };
    }
    if (decided === 'failed') return undefined;
    if (decided === 'changed') continue;
    // Another holder that shares the lock has got this token in the meantime. Others may be raising theirs now.
    token = decided + 1 + Math.floor(random() * RAISE ** raises);
    raises += 1;
  }
  throw new LockStoreError(`other holders of '${key}' took too many fencing tokens in the meantime`, {
    key,
    transient: true,
  });
}

/** `changed`: the votes have changed meanwhile. A number: the largest token that a master knows. */
type Written = 'written' | 'failed' | 'changed' | number;

async function write(
  { quorum, clock }: QuorumContext,
  request: FenceRequest,
  asked: readonly MemberState[],
  votes: Votes,
): Promise<Written> {
  const sent = clock.now();
  const round = new Round();
  const answers = asked.map(async (state) => {
    try {
      const reply = await round.ask(state.member, (store) => store.fence(request));
      state.fenced(reply, request.token, sent, clock.now());
      return reply;
    } catch (error) {
      if (!state.isOpen) state.fail(error as Error);
      throw error;
    }
  });
  // The majority may have no master to spare. If one of its masters crashes after the grant, the outcome is known early:
  // other clients hold the lock by now, or the rest is no majority. Then the failed command is not awaited.
  const look = (): 'changed' | undefined => {
    const { held } = votes;
    return held.length < quorum || held.some((state) => !asked.includes(state)) ? 'changed' : undefined;
  };
  return gather<FenceReply, Written>(answers, { quorum, clock }, (all, last) => decide(all, quorum, last), look);
}

/** Whether a majority has accepted the token. If too many masters refused it, the largest token that they know. */
function decide(answers: Answers<FenceReply>, quorum: number, last: boolean): Written | undefined {
  const replies = valuesOf(answers);
  const written = replies.filter(({ outcome }) => outcome === 'written').length;
  const open = answers.filter((answer) => answer === undefined).length;
  if (written >= quorum) return 'written';
  if (!last && written + open >= quorum) return undefined;
  const known = replies.flatMap((reply) => (reply.outcome === 'refused' ? [reply.lastToken] : []));
  return known.length > 0 ? Math.max(...known) : 'failed';
}
