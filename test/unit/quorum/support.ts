import { QuorumStore } from '../../../lib/store/quorum/quorum-store.js';
import type {
  AcquireReply,
  AcquireRequest,
  ContendedReply,
  ForceReleaseReply,
  ListReply,
  LockStoreListener,
  ReleaseReply,
} from '../../../lib/store/lock-store.js';
import type {
  FenceReply,
  FenceRequest,
  QuorumMember,
  ReinstateReply,
  ReinstateRequest,
  ServerIdentity,
} from '../../../lib/store/quorum-member.js';
import { FakeClock, settled } from '../../../lab/testbed/clocks/fake-clock.js';
import { FakeStore, held, queued, REQUEST, type Asked } from '../engine/support.js';

/**
 * A master in the hands of the test. Tokens are taken at once, unless the test has a say. A lease begins when the request is
 * sent.
 */
export class FakeMember extends FakeStore implements QuorumMember {
  override listening = true;
  readonly clients = { write: async () => undefined, read: async () => undefined };
  private sent = 0;
  private ends = 0;
  identity: () => Promise<ServerIdentity | undefined> = async () => ({ runId: undefined, inCluster: false });
  readonly fences: FenceRequest[] = [];
  readonly reinstated: ReinstateRequest[] = [];
  reinstateReply: (request: ReinstateRequest) => Promise<ReinstateReply> = async ({ lease }) =>
    lease > 0 ? 'held' : 'missing';
  fenceReply: (request: FenceRequest) => Promise<FenceReply> = async () => ({
    outcome: 'written',
    lease: this.ends - this.clock.now(),
  });

  constructor(private readonly clock: FakeClock) {
    super();
  }

  override acquire(request: AcquireRequest): Promise<AcquireReply> {
    this.sent = this.clock.now();
    return super.acquire(request);
  }

  get fullySubscribed(): boolean {
    return this.listening;
  }

  async list(): Promise<ListReply> {
    throw new Error('nothing lists the keys of this master');
  }

  fence(request: FenceRequest): Promise<FenceReply> {
    this.fences.push(request);
    return this.fenceReply(request);
  }

  reinstate(request: ReinstateRequest): Promise<ReinstateReply> {
    this.reinstated.push(request);
    return this.reinstateReply(request);
  }

  async endHolds(): Promise<ForceReleaseReply> {
    return { holds: 0, told: 0 };
  }

  identify(): Promise<ServerIdentity | undefined> {
    return this.identity();
  }

  /** The last thing of a kind that it was asked. */
  get acquired(): Asked<AcquireRequest, AcquireReply> {
    return this.acquires.at(-1)!;
  }

  /** Answers the last acquire. */
  holds(token = 1, lease = 10_000): void {
    this.ends = this.sent + lease;
    this.acquired.answer.resolve(held(token, lease));
  }

  contends(details: Partial<ContendedReply> = {}): void {
    this.acquired.answer.resolve(queued({ lastToken: 0, ...details }));
  }
}

/** The notifications that the engine received. */
export class Told implements LockStoreListener {
  readonly words: string[] = [];
  granted(): void {
    this.words.push('granted');
  }
  retryAfter(id: string, delay: number): void {
    this.words.push(`ask ${id} in ${delay}`);
  }
  yield(id: string): void {
    this.words.push(`yield ${id}`);
  }
  revoked(id: string): void {
    this.words.push(`revoked ${id}`);
  }
  opened(): void {
    this.words.push('opened');
  }
  restored(): void {
    this.words.push('restored');
  }
}

export class Quorum {
  readonly clock = new FakeClock();
  readonly members: FakeMember[];
  readonly store: QuorumStore;
  readonly told = new Told();
  readonly warnings: string[] = [];

  constructor(count: number, random: () => number = () => 0.5) {
    this.members = Array.from({ length: count }, () => new FakeMember(this.clock));
    const logger = { debug() {}, log() {}, error() {}, warn: (text: string) => void this.warnings.push(text) };
    this.store = new QuorumStore({ members: this.members, commandTimeout: 500, logger, clock: this.clock, random });
    this.store.listen(this.told);
  }

  async start(): Promise<this> {
    await this.store.start();
    return this;
  }

  /** Asks, and comes back when the masters have been asked. */
  async ask(request: Partial<AcquireRequest> = {}): Promise<Watched<AcquireReply>> {
    const answer = watch(this.store.acquire({ ...REQUEST, lease: 10_000, ...request }));
    await settled();
    return answer;
  }

  /** A lock that all masters hold. */
  async hold(request: Partial<AcquireRequest> = {}): Promise<AcquireReply> {
    const answer = await this.ask(request);
    for (const member of this.members) member.holds();
    return answer.promise;
  }
}

export interface Watched<T> {
  readonly promise: Promise<T>;
  value?: T;
  error?: any;
}

/** A promise whose outcome can be looked at without waiting for it. */
export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched: Watched<T> = { promise };
  promise.then(
    (value) => (watched.value = value),
    (error: unknown) => (watched.error = error),
  );
  return watched;
}

export const given = <T>(value: T): Promise<T> => Promise.resolve(value);
export const released = (is = true): ReleaseReply => ({ released: is, next: undefined });
