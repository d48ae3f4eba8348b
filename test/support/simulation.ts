import type { Clock } from '../../lib/common/clock.js';
import { LockStoreError } from '../../lib/errors/index.js';
import type {
  AcquireReply,
  AcquireRequest,
  LockStoreListener,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../../lib/store/lock-store.js';
import type { MemoryBackend } from '../../lib/store/memory/memory-backend.js';
import { MemoryStore } from '../../lib/store/memory/memory-store.js';

/** What goes wrong between clients and servers. */
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

/** Where something happens in bad weather. */
export interface Surroundings {
  readonly clock: Clock;
  readonly random: () => number;
  readonly weather: Weather;
  /** ms */
  readonly commandTimeout: number;
}

/** One client's connection to a server, in bad weather. What is sent arrives in its order, if it arrives. */
export class SimulatedStore extends MemoryStore {
  override readonly clientId: string;
  private lastArrival = 0;
  private lastAnswer = 0;

  constructor(
    backend: MemoryBackend,
    clientId: string,
    protected readonly surroundings: Surroundings,
  ) {
    super(backend);
    this.clientId = clientId;
  }

  override listen(listener: LockStoreListener): void {
    const { clock, random, weather } = this.surroundings;
    const later = (work: () => void): void => {
      if (random() >= weather.pushLoss) clock.setTimer(this.delay(), work);
    };
    super.listen({
      granted: (grant) => later(() => listener.granted(grant)),
      retryAfter: (id, delay) => later(() => listener.retryAfter(id, delay)),
      yield: (id) => later(() => listener.yield(id)),
      revoked: (id, token) => later(() => listener.revoked(id, token)),
      opened: () => undefined,
      restored: () => listener.restored(),
    });
  }

  override acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.send(() => this.acquireThere(request));
  }

  override release(request: ReleaseRequest): Promise<ReleaseReply> {
    return this.send(() => this.releaseThere(request));
  }

  override async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    try {
      return await this.send(() => this.renewThere(requests));
    } catch (error) {
      return requests.map(() => error as Error);
    }
  }

  override extend(request: RenewRequest): Promise<RenewReply> {
    return this.send(() => super.extend(request));
  }

  // What the server does when a question has arrived.

  protected acquireThere(request: AcquireRequest): Promise<AcquireReply> {
    return super.acquire(request);
  }

  protected releaseThere(request: ReleaseRequest): Promise<ReleaseReply> {
    return super.release(request);
  }

  protected renewThere(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    return super.renew(requests);
  }

  /** Until when the server executes nothing. */
  protected get frozenUntil(): number {
    return 0;
  }

  /** Lost questions and answers are found out after `commandTimeout`, as on a connection that hangs. */
  protected send<T>(execute: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const { clock, random, weather, commandTimeout } = this.surroundings;
      const timer = clock.setTimer(commandTimeout, () => reject(new LockStoreError('no answer', { transient: true })));
      if (random() < weather.loss) return;
      const arrival = Math.max(clock.now() + this.delay(), this.lastArrival, this.frozenUntil);
      this.lastArrival = arrival;
      clock.setTimer(arrival - clock.now(), () => {
        void execute().then((reply) => {
          if (random() < weather.loss) return;
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

  private delay(): number {
    const { random, weather } = this.surroundings;
    return random() < 0.05 ? random() * 5 * weather.delay : random() * weather.delay;
  }
}
