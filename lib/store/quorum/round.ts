import { LockStoreError } from '../../errors/index.js';
import type { QuorumMember } from '../quorum-member.js';
import type { Member } from './member.js';

/**
 * The replies of one round of requests. A server counts once, whatever addresses lead to it: after its reply, the
 * connection may be lost, and another address may lead to the same server while the round is still open.
 */
export class Round {
  private readonly servers = new Map<string, Member>();

  /**
   * Asks a member.
   * @throws LockStoreError if its server has replied in this round by another address
   */
  async ask<T>(member: Member, question: (store: QuorumMember) => Promise<T>): Promise<T> {
    return this.count(member, await member.ask(question));
  }

  private count<T>(member: Member, reply: T): T {
    const { server } = member;
    if (server === undefined) return reply;
    const earlier = this.servers.get(server);
    if (earlier !== undefined && earlier !== member) throw repliedBefore(earlier);
    this.servers.set(server, member);
    return reply;
  }
}

/** Asks all members in one round. */
export function askEach<T>(
  members: readonly Member[],
  question: (store: QuorumMember) => Promise<T>,
): Array<Promise<T>> {
  const round = new Round();
  return members.map((member) => round.ask(member, question));
}

/** The error of a master whose server has replied by another address. */
export const repliedBefore = ({ place }: Member): LockStoreError =>
  new LockStoreError(`the same server has replied as master ${place + 1} of connection, so its reply counts once`, {
    transient: true,
  });
