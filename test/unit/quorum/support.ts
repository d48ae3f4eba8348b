import { QuorumStore } from '../../../lib/store/quorum/quorum-store.js';
import type {
  AcquireReply,
  AcquireRequest,
  ContendedReply,
  ForceReleaseReply,
  ListReply,
  LockStoreListener,
  ReleaseRequest,
} from '../../../lib/store/lock-store.js';
import type {
  FenceReply,
  FenceRequest,
  QuorumMember,
  ReinstateReply,
  ReinstateRequest,
  ServerIdentity,
} from '../../../lib/store/quorum-member.js';
import { FakeStore, held, queued, REQUEST, SILENT, type Asked, FakeClock, settled } from '../engine/support.js';

/**
 * A master in the hands of the test. Tokens are taken at once, unless the test has a say. A lease begins when the request is
 * sent.
 */
export class FakeMember extends FakeStore implements QuorumMember {
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

  list = (): Promise<ListReply> => Promise.reject(new Error('nothing lists the keys of this master'));
  endHolds = async (): Promise<ForceReleaseReply> => ({ holds: 0, told: 0 });
  identify = (): Promise<ServerIdentity | undefined> => this.identity();

  fence(request: FenceRequest): Promise<FenceReply> {
    this.fences.push(request);
    return this.fenceReply(request);
  }

  reinstate(request: ReinstateRequest): Promise<ReinstateReply> {
    this.reinstated.push(request);
    return this.reinstateReply(request);
  }

  /** The last thing of a kind that it was asked. */
  get acquired(): Asked<AcquireRequest, AcquireReply> {
    return this.acquires.at(-1)!;
  }

  /** Answers the last acquire. */
  holds(token = 1, lease = 10_000): void {
    this.ends = this.sent + lease;
    this.acquired.reply.resolve(held(token, lease));
  }

  contends(details: Partial<ContendedReply> = {}): void {
    this.acquired.reply.resolve(queued({ lastToken: 0, ...details }));
  }

  /** Answers the last release: the request that came with it got the lock at once. */
  regrants(): void {
    this.releases.at(-1)!.reply.resolve({ released: true, next: held(9, 10_000, 0) });
  }

  /** Reports a grant. */
  pushes(id: string, token = 5): void {
    this.listener.granted({ key: 'a', id, token, lease: 3_000, time: 0, batchSize: 1 });
  }
}

export class Quorum {
  readonly clock = new FakeClock();
  /** As many as were asked for. */
  readonly members: [FakeMember, FakeMember, FakeMember, FakeMember, FakeMember];
  readonly store: QuorumStore;
  /** The notifications that the engine received. */
  readonly told: string[] = [];
  readonly warnings: string[] = [];

  constructor(count: number, random: () => number = () => 0.5) {
    this.members = Array.from({ length: count }, () => new FakeMember(this.clock)) as Quorum['members'];
    const logger = { ...SILENT, warn: (text: string) => void this.warnings.push(text) };
    this.store = new QuorumStore({ members: this.members, commandTimeout: 500, logger, clock: this.clock, random });
    const note = (word: string) => void this.told.push(word);
    const listener: LockStoreListener = {
      granted: () => note('granted'),
      retryAfter: (id, delay) => note(`ask ${id} in ${delay}`),
      yield: (id) => note(`yield ${id}`),
      revoked: (id) => note(`revoked ${id}`),
      opened: () => note('opened'),
      restored: () => note('restored'),
    };
    this.store.listen(listener);
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

  /** An acquisition over so many masters. */
  static async asked(count: number, request?: Partial<AcquireRequest>) {
    const quorum = await new Quorum(count).start();
    return [quorum, await quorum.ask(request), ...quorum.members] as const;
  }

  /** A lock that all masters hold. */
  async hold(request: Partial<AcquireRequest> = {}): Promise<AcquireReply> {
    const answer = await this.ask(request);
    for (const member of this.members) member.holds();
    return answer.promise;
  }
}

/** The release of that lock. */
export const RELEASE: ReleaseRequest = { key: 'a', id: 'me:1', tombstoneFor: 0, keep: 0, next: undefined };

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
