import { errorsOf, gatherWithin, repliesOf, type Answers } from '../../common/answers.js';
import { systemClock, type Clock } from '../../common/clock.js';
import type { LockLogger } from '../../common/logger.js';
import { isLockConfigError, LockConfigError, type LockStoreError } from '../../errors/index.js';
import {
  chooser,
  type AcquireReply,
  type AcquireRequest,
  type ForceReleaseReply,
  type HoldChoice,
  type ListReply,
  type ListRequest,
  type LockStore,
  type LockStoreListener,
  type OfferReply,
  type OfferRequest,
  type ReleaseReply,
  type ReleaseRequest,
  type RenewReply,
  type RenewRequest,
  type StoredLock,
} from '../lock-store.js';
import type { QuorumMember } from '../quorum-member.js';
import { Acquisition } from './acquisition.js';
import { QuorumClientRecords } from './client-records.js';
import { Membership, type Member } from './membership.js';
import { mergeInspections } from './merge-inspections.js';
import {
  askEach,
  gather,
  gatherAll,
  graceAfter,
  isMajority,
  isMinorityWithout,
  minorityError,
  tallyRelease,
  tallyRenewal,
  type QuorumContext,
} from './round.js';
import { longestTry } from './split-votes.js';

/** Acquisitions are swept for the first time if there are this many. */
const SWEEP_AT = 1_000;
/** For how many ms a finished release waits for the reply to the next request, which saves a separate request. */
const NEXT_GRACE = 10;
/** After a majority has started, the others get this many ms to show that they are not independent. */
const START_GRACE = 250;
/**
 * A master refuses votes for a hold that was ended by force for at least this many ms. The hold's client learns of the
 * end within one renewal.
 */
const REVOKED_MEMORY = 60_000;

export interface QuorumStoreOptions {
  /** One store for each master. They share one client id. */
  readonly members: readonly QuorumMember[];
  /** ms */
  readonly commandTimeout: number;
  readonly logger: LockLogger;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** The messages of the errors. A majority for each hold does not limit the number of holds. */
const LACKING = Object.freeze({
  permits:
    'Permits need one Redis that counts them, and these locks are on several independent masters (Redlock): set up a second ' +
    'instance on one of them, RedisLockModule.forRoot({ instance, connection }), and acquire the permits there.',
  latches:
    'Count-down latches need one Redis that counts, and these locks are on several independent masters (Redlock): set up a ' +
    'second instance on one of them, RedisLockModule.forRoot({ instance, connection }), and get the latch from that.',
  replicas:
    '`replicas` does not work with several independent masters (Redlock), which take the place of replicas: leave the option out.',
});

/** Locks over several independent masters (Redlock): a majority of them decides. All masters are asked at once. */
export class QuorumStore implements LockStore {
  readonly clientId: string;
  readonly lacks = LACKING;
  readonly mayKeepPlaces = true;
  readonly latches = undefined;
  readonly clients: QuorumClientRecords;
  protected readonly context: QuorumContext;
  private readonly membership: Membership;
  /** By their ids, until they are released. */
  private readonly acquisitions = new Map<string, Acquisition>();
  private sweepAt = SWEEP_AT;
  private listener: LockStoreListener | undefined;

  constructor({ members, commandTimeout, logger, clock = systemClock, random = Math.random }: QuorumStoreOptions) {
    this.clientId = members[0]!.clientId;
    this.membership = new Membership(members, logger, clock);
    const quorum = Math.floor(members.length / 2) + 1;
    this.context = { members: this.membership.members, quorum, clock, random, commandTimeout };
    this.clients = new QuorumClientRecords(this.context.members);
    for (const member of this.context.members) this.listenTo(member);
  }

  get listening(): boolean {
    return isMajority(this.context, ({ listening }) => listening);
  }

  get fullySubscribed(): boolean {
    return isMajority(this.context, ({ fullySubscribed }) => fullySubscribed);
  }

  get epoch(): number {
    return this.context.members.reduce((sum, { store }) => sum + store.epoch, 0);
  }

  get replyTime(): number {
    return longestTry(this.context);
  }

  get unreachable(): LockStoreError | undefined {
    return this.minority(({ unreachable }) => unreachable);
  }

  get outage(): LockStoreError | undefined {
    return this.minority(({ outage }) => outage);
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  /**
   * Connects all masters, and finds out whether they are independent servers. Resolves when a majority is ready.
   * @throws LockConfigError if masters are not independent; LockStoreError if no majority can be reached
   */
  async start(): Promise<void> {
    const starts = this.context.members.map(async (member) => {
      await member.store.start();
      await member.admit();
      return member;
    });
    const answers = await gatherAll(this.context, starts, undefined, () => START_GRACE);
    const mistake = errorsOf(answers).find(isLockConfigError);
    if (mistake !== undefined) throw mistake;
    this.membership.hasStarted = true;
  }

  async close(): Promise<void> {
    for (const acquisition of this.acquisitions.values()) acquisition.release();
    this.acquisitions.clear();
    await Promise.all(this.context.members.map(({ store }) => store.close()));
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { refusal } = this.membership;
    if (refusal !== undefined) {
      this.membership.recheck();
      throw refusal;
    }
    return this.attempt(request, this.acquisitions.get(request.id) ?? this.open(request));
  }

  async release({ key, id, keep, tombstoneFor, next }: ReleaseRequest): Promise<ReleaseReply> {
    const called = this.context.clock.now();
    const votes = this.end(id)?.votes.all;
    const acquisition = next && this.open(next);
    // A reply that was not awaited may belong to a request that is executed after the release.
    const tombstones = this.context.members.map((_, i) => Math.max(tombstoneFor, votes?.[i]?.tombstoneFor ?? 0));
    votes?.forEach((vote, i) => {
      if (vote.member.store.unreachable !== undefined) vote.release(tombstones[i], keep);
    });
    const replies = askEach(
      this.context,
      (store, i) =>
        store.release({ key, id, keep, tombstoneFor: tombstones[i]!, next: acquisition?.requestFor(store) }),
      true,
    );
    acquisition?.votes.all.forEach((vote, i) => {
      acquisition.expect(vote, async () => (await replies[i]!).next!, called);
    });
    const nextReply = acquisition && this.attempt(next, acquisition).catch(asError);
    const released = await gather(this.context, replies, (answers, last) =>
      tallyRelease(this.context, answers, last, key),
    );
    if (nextReply === undefined) return { released, next: undefined };
    // It may take longer than the release does.
    const { clock } = this.context;
    const [reply] = repliesOf(await gatherWithin(NEXT_GRACE, [nextReply], undefined, clock));
    const later = { outcome: 'queued', time: clock.now(), retryAfter: 0, lastToken: 0, holders: [] } as const;
    return { released, next: reply ?? later };
  }

  /**
   * If one master has lost a hold, a slow master may decide; it gets the whole time of a command. With less time, a hold that a
   * majority has could be lost by one renewal after the other. Leases that are decided do not wait for it. A lease that is not
   * decided yet gets an error, and is renewed again separately.
   */
  async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    if (requests.length === 0) return [];
    const { context } = this;
    const sent = context.clock.now();
    const asked = askEach(context, (store) => store.renew(requests));
    let tallies: Array<RenewReply | undefined> = [];
    const replies = await gather(
      context,
      asked,
      (answers, last) => {
        tallies = requests.map(({ key }, i) => tallyRenewal(context, leasesOf(answers, i), last, key));
        return tallies.includes(undefined) ? undefined : (tallies as RenewReply[]);
      },
      (ms) => (tallies.every((tally) => tally === undefined) ? undefined : graceAfter(ms)),
    );
    requests.forEach(({ id }, i) => {
      const reply = replies[i];
      const majority = this.acquisitions.get(id)?.votes.majority;
      if (majority !== undefined && typeof reply === 'number') majority.until = Math.max(majority.until, sent + reply);
    });
    void this.reinstateMissing(requests, replies, asked);
    return replies;
  }

  /** Reinstates the votes of holds that have a majority, on masters that do not know them. Never rejects. */
  private async reinstateMissing(
    requests: readonly RenewRequest[],
    decided: readonly RenewReply[],
    asked: ReadonlyArray<Promise<readonly RenewReply[]>>,
  ): Promise<void> {
    const answers = await Promise.all(asked.map((each) => each.catch(asError)));
    requests.forEach(({ id }, i) => {
      if (typeof decided[i] !== 'number') return;
      void this.acquisitions.get(id)?.votes.reinstate(leasesOf(answers, i));
    });
  }

  /**
   * Offers a hold on all masters. Waits for a slow one as a renewal does. A master on which the old id has a place in
   * the queue, or may still get a vote, gets a tombstone behind the offer.
   * @throws LockStoreError if so many masters fail that the rest is no majority
   */
  async offer(request: OfferRequest): Promise<OfferReply> {
    const { context } = this;
    const votes = this.end(request.id)?.votes.all;
    const asked = askEach(context, (store) => store.offer(request));
    for (const vote of votes ?? []) {
      if (vote.tombstoneFor > 0 || vote.standing.outcome === 'queued') vote.release(2 * context.commandTimeout);
    }
    const reply = await gather<OfferReply, RenewReply | 'shared'>(
      context,
      asked,
      (answers, last) =>
        answers.includes('shared')
          ? 'shared'
          : tallyRenewal(context, answers as Answers<RenewReply>, last, request.key),
      () => undefined,
    );
    if (reply instanceof Error) throw reply;
    return reply;
  }

  /** Several keys over several masters cannot be taken in one step. The engine takes them one by one. */
  readonly acquireAll = async (): Promise<undefined> => undefined;

  async replicate(): Promise<number> {
    throw new LockConfigError(LACKING.replicas);
  }

  /**
   * Ends on each master the holds that exist now, or only those with the ids in `hold`. A master that lists its holds after
   * the others have decided ends only holds that the others have named. Its other holds may be newer.
   * @throws LockStoreError if so many masters fail that the rest is no majority
   */
  async forceRelease(key: string, hold?: HoldChoice, by?: string): Promise<ForceReleaseReply> {
    const looks = askEach(this.context, async (store) => (await store.inspect(key)).holds);
    const found = repliesOf(await gatherAll(this.context, looks, key)).flatMap((holds) => holds.filter(chooser(hold)));
    const named = new Set(found.map(({ id }) => id));
    const endings = askEach(this.context, async (store, i) => {
      const holds = (await looks[i]!).filter(({ id }) => named.has(id));
      return store.endHolds(key, holds, by, REVOKED_MEMORY);
    });
    const replies = repliesOf(await gatherAll(this.context, endings, key));
    return {
      holds: Math.max(...replies.map(({ holds }) => holds)),
      told: Math.max(...replies.map(({ told }) => told)),
    };
  }

  async inspect(key: string, maxWaiters?: number): Promise<StoredLock> {
    const asked = askEach(this.context, (store) => store.inspect(key, maxWaiters));
    return mergeInspections(this.context, repliesOf(await gatherAll(this.context, asked, key)));
  }

  /**
   * Lists the keys that any master knows. The cursor contains that of each master, or `null` once it has listed all its keys. A
   * master that fails is not asked again in this round: another one also knows each key that a majority holds.
   * @throws LockStoreError if no majority answers
   */
  async list({ cursor, budget }: ListRequest): Promise<ListReply> {
    const { members } = this.context;
    const cursors = cursor === '' ? members.map(() => '') : (JSON.parse(cursor) as ReadonlyArray<string | null>);
    const asked = members.map(async (member, i): Promise<ListReply | null> => {
      const place = cursors[i] ?? null;
      return place === null ? null : member.ask((store) => store.list({ cursor: place, budget }));
    });
    const answers = await gatherAll(this.context, asked, undefined);
    const parts = repliesOf(answers).filter((part) => part !== null);
    const next = answers.map((answer) => (answer && 'cursor' in answer ? (answer.cursor ?? null) : null));
    return {
      keys: [...new Set(parts.flatMap(({ keys }) => keys))],
      cursor: next.every((each) => each === null) ? undefined : JSON.stringify(next),
      time: parts[0]?.time ?? Date.now(),
    };
  }

  /** The error if so many masters fail that the rest is no majority. */
  private minority(failureOf: (store: QuorumMember) => LockStoreError | undefined): LockStoreError | undefined {
    const { members } = this.context;
    const errors = members.flatMap(({ store }) => failureOf(store) ?? []);
    if (!isMinorityWithout(this.context, errors.length)) return undefined;
    return minorityError(this.context, members.length - errors.length, errors, undefined);
  }

  private open(request: AcquireRequest): Acquisition {
    const { id } = request;
    const acquisition = new Acquisition(this.context, request, () => this.listener?.retryAfter(id, 0));
    if (this.acquisitions.size >= this.sweepAt) this.sweep();
    this.acquisitions.set(id, acquisition);
    return acquisition;
  }

  /** Tries to get a majority. Forgets the acquisition if no caller needs it any more. */
  private async attempt(request: AcquireRequest, acquisition: Acquisition): Promise<AcquireReply> {
    const { id } = request;
    const reply = await acquisition.attempt(request);
    if (!acquisition.isWanted && this.acquisitions.get(id) === acquisition) this.acquisitions.delete(id);
    return reply;
  }

  /** Forgets an acquisition that is being released. From now on, its vote is reinstated on no master. */
  private end(id: string): Acquisition | undefined {
    const given = this.acquisitions.get(id);
    given?.release();
    this.acquisitions.delete(id);
    return given;
  }

  /** Removes holds that have expired: no caller releases them. */
  private sweep(): void {
    const now = this.context.clock.now();
    for (const [id, { votes }] of this.acquisitions) {
      const { majority } = votes;
      if (majority !== undefined && majority.until < now) this.acquisitions.delete(id);
    }
    this.sweepAt = Math.max(SWEEP_AT, 2 * this.acquisitions.size);
  }

  private listenTo(member: Member): void {
    member.store.listen({
      granted: ({ key, id }) => {
        const acquisition = this.acquisitions.get(id);
        if (acquisition !== undefined) return acquisition.pushed(member);
        // No caller needs this hold any more.
        const release = { key, id, tombstoneFor: 0, keep: 0, next: undefined };
        member.tell((store) => store.release(release)).catch(() => undefined);
      },
      retryAfter: (id, delay) => this.listener?.retryAfter(id, delay),
      yield: (id) => this.listener?.yield(id),
      revoked: (id, _token, by) => {
        if (this.acquisitions.get(id)?.revoked(member) !== true) return;
        this.acquisitions.delete(id);
        this.listener?.revoked(id, undefined, by);
      },
      opened: () => undefined,
      restored: () => {
        this.membership.recheck();
        this.listener?.restored();
      },
    });
  }
}

/** What each master has replied about one of the leases that it was asked to renew together. */
const leasesOf = (answers: Answers<readonly RenewReply[]>, i: number): Answers<RenewReply> =>
  answers.map((answer) => (answer === undefined || answer instanceof Error ? answer : answer[i]));

const asError = (error: Error): Error => error;
