import type { LockLogger } from '../../common/logger.js';
import { LockConfigError } from '../../errors/index.js';
import type { QuorumMember } from '../quorum-member.js';

/** The masters of a quorum, and whether they may be its members: each a server of its own, and none in a Cluster. */
export class Membership {
  readonly members: readonly Member[];
  /** Why these masters cannot make up a quorum, once that is known. */
  refusal: LockConfigError | undefined;
  private readonly servers = new Map<string, Member>();
  private warned = false;

  constructor(
    stores: readonly QuorumMember[],
    private readonly logger: LockLogger,
  ) {
    this.members = stores.map((store, place) => new Member(store, place, this));
  }

  /** @throws LockConfigError when the master cannot be a member, LockStoreError when it does not tell */
  async examine(member: Member): Promise<void> {
    const identity = await member.store.identify();
    if (identity === undefined) {
      if (!this.warned) this.logger.warn(CANNOT_TELL);
      this.warned = true;
      return;
    }
    if (identity.inCluster) this.refuse(`master ${member.place + 1} of connection is a node of a Redis Cluster`);
    if (identity.runId === undefined) return;
    const same = this.servers.get(identity.runId);
    if (same !== undefined && same !== member) {
      const [one, other] = [same.place + 1, member.place + 1].sort((a, b) => a - b);
      this.refuse(`masters ${one} and ${other} of connection are the same server`);
    }
    this.servers.set(identity.runId, member);
  }

  private refuse(why: string): never {
    this.refusal ??= new LockConfigError(
      `${why}; Redlock needs independent masters: servers of their own that share nothing.`,
    );
    throw this.refusal;
  }
}

const CANNOT_TELL =
  'the Redis user may not call INFO, so nobody checks whether the masters are servers of their own, outside of a Cluster';

/** One of several masters. */
export class Member {
  private admitted = false;
  private admission: Promise<void> | undefined;

  constructor(
    readonly store: QuorumMember,
    readonly place: number,
    private readonly membership: Membership,
  ) {}

  /** Resolves when it is known to be a server of its own. */
  admit(): Promise<void> {
    this.admission ??= this.membership.examine(this).then(
      () => {
        this.admitted = true;
      },
      (error: unknown) => {
        this.admission = undefined;
        throw error;
      },
    );
    return this.admission;
  }

  /**
   * Asks it something: at once, so that what is sent arrives in its order, unless it has to be examined before.
   * @throws LockStoreError, without asking, while it has been out of reach for so long that it would only pile up
   */
  ask<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    const { unreachable } = this.store;
    return unreachable === undefined ? this.tell(question) : Promise.reject(unreachable);
  }

  /** As `ask`, also while it is out of reach: to give back what it was asked before, behind which this goes. */
  tell<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    const { refusal } = this.membership;
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.admitted ? question(this.store) : this.admit().then(() => question(this.store));
  }
}
