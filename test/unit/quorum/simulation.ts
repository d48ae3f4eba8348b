import type { Clock } from '../../../lib/common/clock.js';
import type {
  AcquireReply,
  AcquireRequest,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
} from '../../../lib/store/lock-store.js';
import { MemoryBackend } from '../../../lib/store/memory/memory-backend.js';
import type {
  FenceReply,
  FenceRequest,
  QuorumMember,
  ReinstateReply,
  ReinstateRequest,
  ServerIdentity,
} from '../../../lib/store/quorum-member.js';
import { SimulatedStore, type Surroundings } from '../../support/simulation.js';

/** What the time of masters is counted from. */
const ORIGIN = 1_700_000_000_000;

/** A master: the locks of this process's memory, and a clock of its own for tokens. */
export class SimulatedMaster {
  readonly backend: MemoryBackend;
  /** While it is frozen nothing is executed. */
  frozenUntil = 0;
  private readonly tokens = new Map<string, number>();
  private floor: number;

  constructor(
    clock: Clock,
    /** How far its tokens are ahead. */
    ahead: number,
  ) {
    this.backend = new MemoryBackend(clock, ORIGIN);
    this.floor = ahead;
  }

  tokenOf(id: string): number {
    let token = this.tokens.get(id);
    if (token === undefined) this.tokens.set(id, (token = ++this.floor));
    return token;
  }

  fence({ id, token, batchSize }: FenceRequest, left: RenewReply): FenceReply {
    if (typeof left !== 'number') return { outcome: 'gone' };
    if (this.floor >= token && !(this.floor <= token + batchSize - 1 && this.tokens.get(id) === token)) {
      return { outcome: 'refused', lease: left, lastToken: this.floor };
    }
    this.floor = token + batchSize - 1;
    this.tokens.set(id, token);
    return { outcome: 'written', lease: left };
  }

  async reinstate(request: ReinstateRequest): Promise<ReinstateReply> {
    const { key, id, token, batchSize } = request;
    const reply = await this.backend.execute(() => this.backend.withLock(key, (lock) => lock.reinstate(request)));
    if (reply === 'held') {
      this.floor = Math.max(this.floor, token + batchSize - 1);
      this.tokens.set(id, token);
    }
    return reply;
  }
}

/** One client's connection to a master, in bad weather. */
export class SimulatedMember extends SimulatedStore implements QuorumMember {
  constructor(
    private readonly master: SimulatedMaster,
    clientId: string,
    surroundings: Surroundings,
  ) {
    super(master.backend, clientId, surroundings);
  }

  protected override async acquireThere(request: AcquireRequest): Promise<AcquireReply> {
    return this.withToken(request.id, await super.acquireThere(request));
  }

  protected override async releaseThere(request: ReleaseRequest): Promise<ReleaseReply> {
    const { released, next } = await super.releaseThere(request);
    return { released, next: next && this.withToken(request.next!.id, next) };
  }

  fence(request: FenceRequest): Promise<FenceReply> {
    return this.send(async () => {
      const [left] = await this.renewThere([{ ...request, lease: 0 }]);
      return this.master.fence(request, left!);
    });
  }

  reinstate(request: ReinstateRequest): Promise<ReinstateReply> {
    return this.send(() => this.master.reinstate(request));
  }

  async identify(): Promise<ServerIdentity | undefined> {
    return { runId: undefined, inCluster: false };
  }

  protected override get frozenUntil(): number {
    return this.master.frozenUntil;
  }

  private withToken(id: string, reply: AcquireReply): AcquireReply {
    return reply.outcome === 'held' ? { ...reply, token: this.master.tokenOf(id) } : reply;
  }
}
