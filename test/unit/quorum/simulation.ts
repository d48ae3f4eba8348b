import type { Clock } from '../../../lib/common/clock.js';
import { LockStoreError } from '../../../lib/errors/index.js';
import type {
  AcquireReply,
  AcquireRequest,
  LockStoreListener,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../../../lib/store/lock-store.js';
import { MemoryBackend } from '../../../lib/store/memory/memory-backend.js';
import { MemoryStore } from '../../../lib/store/memory/memory-store.js';
import type { FenceReply, FenceRequest, QuorumMember, ServerIdentity } from '../../../lib/store/quorum-member.js';

/** What goes wrong between clients and masters. */
export interface Weather {
  /** ms that a message takes at most. */
  readonly delay: number;
  /** The share of questions that are lost, and of answers. */
  readonly loss: number;
  /** The share of pushes that are lost. */
  readonly pushLoss: number;
}

/** A sound generator of random numbers, the same ones for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

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
    this.backend = new MemoryBackend(clock);
    this.floor = ahead;
  }

  tokenOf(id: string): number {
    let token = this.tokens.get(id);
    if (token === undefined) this.tokens.set(id, (token = ++this.floor));
    return token;
  }

  fence(id: string, token: number, left: RenewReply): FenceReply {
    if (typeof left !== 'number') return { outcome: 'gone' };
    if (this.floor >= token && !(this.floor === token && this.tokens.get(id) === token)) {
      return { outcome: 'refused', lease: left, lastToken: this.floor };
    }
    this.floor = token;
    this.tokens.set(id, token);
    return { outcome: 'written', lease: left };
  }
}

/** One client's connection to a master, in bad weather. What is sent arrives in its order, if it arrives. */
export class SimulatedMember extends MemoryStore implements QuorumMember {
  override readonly clientId: string;
  private lastArrival = 0;
  private lastAnswer = 0;

  constructor(
    private readonly master: SimulatedMaster,
    clientId: string,
    private readonly clock: Clock,
    private readonly random: () => number,
    private readonly weather: Weather,
    private readonly commandTimeout: number,
  ) {
    super(master.backend);
    this.clientId = clientId;
  }

  override listen(listener: LockStoreListener): void {
    const later = (work: () => void): void => {
      if (this.random() >= this.weather.pushLoss) this.clock.setTimer(this.delay(), work);
    };
    super.listen({
      granted: (grant) => later(() => listener.granted(grant)),
      askIn: (id, delay) => later(() => listener.askIn(id, delay)),
      yield: (id) => later(() => listener.yield(id)),
      revoked: (id) => later(() => listener.revoked(id)),
      opened: () => undefined,
      restored: () => listener.restored(),
    });
  }

  override acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.send(async () => this.withToken(request.id, await super.acquire(request)));
  }

  override release(request: ReleaseRequest): Promise<ReleaseReply> {
    return this.send(async () => {
      const { released, next } = await super.release(request);
      return { released, next: next && this.withToken(request.next!.id, next) };
    });
  }

  override async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    try {
      return await this.send(() => super.renew(requests));
    } catch (error) {
      return requests.map(() => error as Error);
    }
  }

  fence({ key, id, token }: FenceRequest): Promise<FenceReply> {
    return this.send(async () => {
      const [left] = await super.renew([{ key, id, lease: 0 }]);
      return this.master.fence(id, token, left!);
    });
  }

  async identify(): Promise<ServerIdentity | undefined> {
    return { runId: undefined, inCluster: false };
  }

  private withToken(id: string, reply: AcquireReply): AcquireReply {
    return reply.outcome === 'held' ? { ...reply, token: this.master.tokenOf(id) } : reply;
  }

  private delay(): number {
    return this.random() < 0.05 ? this.random() * 5 * this.weather.delay : this.random() * this.weather.delay;
  }

  /** Lost questions and answers are found out after `commandTimeout`, as on a connection that hangs. */
  private send<T>(execute: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const { clock, weather, commandTimeout } = this;
      const timer = clock.setTimer(commandTimeout, () => reject(new LockStoreError('no answer', { transient: true })));
      if (this.random() < weather.loss) return;
      const arrival = Math.max(clock.now() + this.delay(), this.lastArrival, this.master.frozenUntil);
      this.lastArrival = arrival;
      clock.setTimer(arrival - clock.now(), () => {
        void execute().then((reply) => {
          if (this.random() < weather.loss) return;
          const answer = Math.max(clock.now() + this.delay(), this.lastAnswer);
          this.lastAnswer = answer;
          clock.setTimer(answer - clock.now(), () => {
            clock.clearTimer(timer);
            resolve(reply);
          });
        }, reject);
      });
    });
  }
}
