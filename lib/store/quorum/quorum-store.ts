import { systemClock, type Clock } from '../../common/clock.js';
import type { LockLogger } from '../../common/logger.js';
import { isLockConfigError, LockConfigError, type LockStoreError } from '../../errors/index.js';
import type { ClientRecord, ClientRecordStore } from '../client-records.js';
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
  type PushedGrant,
  type ReleaseReply,
  type ReleaseRequest,
  type RenewReply,
  type RenewRequest,
  type StoredLock,
} from '../lock-store.js';
import type { QuorumMember } from '../quorum-member.js';
import { Acquisition, type Outcome } from './acquisition.js';
import { Membership, type Member } from './membership.js';
import { mergeInspections } from './merge-inspections.js';
import {
  askEach,
  gather,
  gatherAll,
  graceAfter,
  minorityError,
  orAfter,
  refuseMinority,
  Round,
  tallyRelease,
  tallyRenewal,
  valuesOf,
  type Answers,
  type QuorumContext,
} from './round.js';
import { longestTry } from './split-votes.js';

/** Acquisitions are swept for the first time if there are this many. */
const SWEEP_AT = 1_000;

/** Keeps the record of a client on each master. One master that has it is enough: it only serves people. */
export class QuorumClientRecords implements ClientRecordStore {
  constructor(private readonly masters: () => readonly Member[]) {}

  /** @throws AggregateError if no master takes it */
  async write(record: ClientRecord, lifetime: number): Promise<void> {
    await this.first(({ clients }) => clients.write(record, lifetime));
  }

  async read(clientId: string): Promise<ClientRecord | undefined> {
    const answer = this.first(
      async ({ clients }) => (await clients.read(clientId)) ?? Promise.reject(new Error('none')),
    );
    return answer.catch(() => undefined);
  }

  /** A client that no answering master knows receives at most the messages of masters that are away. */
  async connected(clientIds: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const asked = this.reachable().map(async ({ store }) => store.clients.connected?.(clientIds));
    const answers = valuesOf(await Promise.allSettled(asked)).filter((answer) => answer !== undefined);
    const known = clientIds.filter((id) => answers.some((answer) => answer.has(id)));
    return new Map(known.map((id) => [id, answers.some((answer) => answer.get(id) === true)]));
  }

  /** Asks the masters that can be reached. The others would execute it later. */
  private first<T>(ask: (store: QuorumMember) => Promise<T>): Promise<T> {
    return Promise.any(this.reachable().map(({ store }) => ask(store)));
  }

  private reachable(): readonly Member[] {
    return this.masters().filter(({ store }) => store.unreachable === undefined);
  }
}

/** For how many ms a finished release waits for the reply to the next request, which saves a separate request. */
const NEXT_GRACE = 10;
/** The largest difference in speed between two clocks, with a small margin. */
const DRIFT = 0.011;
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

/** Locks over several independent masters (Redlock): a majority of them decides. All masters are asked at once. */
export class QuorumStore implements LockStore {
  readonly clientId: string;
  readonly keepsPermits = false;
  readonly mayKeepPlaces = true;
  readonly latches = undefined;
  readonly clients = new QuorumClientRecords(() => this.context.members);
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
    for (const member of this.context.members) this.listenTo(member);
  }

  get listening(): boolean {
    return this.context.members.filter(({ store }) => store.listening).length >= this.context.quorum;
  }

  get fullySubscribed(): boolean {
    return this.context.members.filter(({ store }) => store.fullySubscribed).length >= this.context.quorum;
  }

  get epoch(): number {
    return this.context.members.reduce((sum, { store }) => sum + store.epoch, 0);
  }

  get answerTime(): number {
    return longestTry(Math.max(...this.context.members.map(({ roundTrip }) => roundTrip)));
  }

  get unreachable(): LockStoreError | undefined {
    return this.minority(this.context.members.flatMap(({ store }) => store.unreachable ?? []));
  }

  get outage(): LockStoreError | undefined {
    return this.minority(this.context.members.flatMap(({ store }) => store.outage ?? []));
  }

  /** The error if so many masters fail that the rest is no majority. */
  private minority(errors: readonly LockStoreError[]): LockStoreError | undefined {
    const { members, quorum } = this.context;
    if (errors.length <= members.length - quorum) return undefined;
    return minorityError(members.length, members.length - errors.length, errors, quorum);
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  /**
   * Connects all masters, and finds out whether they are independent servers. Resolves when a majority is ready.
   * @throws LockConfigError if masters are not independent; LockStoreError if no majority can be reached
   */
  async start(): Promise<void> {
    const { members, quorum, clock } = this.context;
    let unusable: LockConfigError | undefined;
    const refuse = (): void => {
      const refusal = unusable ?? this.membership.refusal;
      if (refusal !== undefined) throw refusal;
    };
    const starts = members.map(async (member) => {
      try {
        await member.store.start();
      } catch (error) {
        if (isLockConfigError(error)) unusable ??= error;
        throw error;
      }
      await member.admit();
    });
    await gather(starts, this.context, (answers, last) => {
      refuse();
      refuseMinority(answers, quorum);
      return last || valuesOf(answers).length >= quorum ? true : undefined;
    });
    await orAfter(clock, START_GRACE, Promise.allSettled(starts), []);
    refuse();
    this.membership.hasStarted = true;
  }

  async close(): Promise<void> {
    for (const acquisition of this.acquisitions.values()) acquisition.release();
    this.acquisitions.clear();
    await Promise.all(this.context.members.map(({ store }) => store.close()));
  }

  async acquire(wanted: AcquireRequest): Promise<AcquireReply> {
    const called = this.context.clock.now();
    const acquisition = this.acquisitions.get(wanted.id) ?? this.open(wanted);
    const { refusal } = this.membership;
    try {
      const outcome = await acquisition.attempt(this.waitingIfListening(wanted));
      return this.replyOf(wanted.id, acquisition, outcome, called);
    } catch (error) {
      throw refusal ?? this.membership.refusal ?? error;
    }
  }

  async release(request: ReleaseRequest): Promise<ReleaseReply> {
    const called = this.context.clock.now();
    const { key, id, keep } = request;
    const given = this.end(id);
    const next = request.next === undefined ? undefined : this.open(request.next);

    const round = new Round();
    const replies = this.context.members.map((member, i) => {
      // A reply that was not awaited may belong to a request that is executed after the release.
      const open = given?.votes.states[i]?.mayAnswer === true ? 2 * this.context.commandTimeout : 0;
      const release = { key, id, tombstoneFor: Math.max(request.tombstoneFor, open), keep, next: undefined };
      if (member.store.unreachable !== undefined && given?.votes.states[i]?.wasSent === true) {
        member.tell((store) => store.release(release)).catch(() => undefined);
      }
      return round.ask(member, (store) => store.release({ ...release, next: next?.requestFor(member) }));
    });
    next?.votes.states.forEach((state, i) => {
      next.expect(state, () => replies[i]!.then((reply) => reply.next!), called);
    });
    const nextReply = next?.attempt().then(
      (outcome) => this.replyOf(request.next!.id, next, outcome, called),
      () => undefined,
    );

    const released = await gather(replies, this.context, (answers, last) =>
      tallyRelease(answers, this.context.quorum, last),
    );
    if (nextReply === undefined) return { released: released === 'released', next: undefined };
    // It may take longer than the release does.
    const reply = await orAfter(this.context.clock, NEXT_GRACE, nextReply, undefined);
    const time = this.context.clock.now();
    const later: AcquireReply = { outcome: 'queued', time, retryAfter: 0, lastToken: 0, holders: [] };
    return { released: released === 'released', next: reply ?? later };
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    if (requests.length === 0) return [];
    const sent = this.context.clock.now();
    const asks = askEach(this.context.members, (store) => store.renew(requests));
    const replies = await this.decideLeases(requests, asks);
    requests.forEach(({ id }, i) => {
      const reply = replies[i];
      const majority = this.acquisitions.get(id)?.majority;
      if (majority !== undefined && typeof reply === 'number') majority.until = Math.max(majority.until, sent + reply);
    });
    void this.reinstateMissing(requests, replies, asks);
    return replies;
  }

  /**
   * Decides each lease that all masters were asked to renew. If one master has lost a hold, a slow master may decide; it
   * gets the whole time of a command. With less time, a hold that a majority has could be lost by one renewal after the
   * other. Leases that are decided do not wait for it. A lease that is not decided yet gets an error, and is renewed
   * again separately.
   */
  private decideLeases(
    requests: readonly RenewRequest[],
    asks: ReadonlyArray<Promise<readonly RenewReply[]>>,
  ): Promise<RenewReply[]> {
    const { quorum, clock } = this.context;
    let tallies: Array<RenewReply | undefined> = [];
    const grace = (ms: number): number | undefined =>
      tallies.every((tally) => tally === undefined) ? undefined : graceAfter(ms);
    return gather(asks, { quorum, clock, graceAfter: grace }, (answers, last) => {
      tallies = requests.map((_, i) =>
        tallyRenewal(
          answers.map((answer) => partOf(answer, i)),
          quorum,
          last,
        ),
      );
      return tallies.includes(undefined) ? undefined : (tallies as RenewReply[]);
    });
  }

  /** Reinstates the votes of holds that have a majority, on masters that do not know them. Never rejects. */
  private async reinstateMissing(
    requests: readonly RenewRequest[],
    decided: readonly RenewReply[],
    asks: ReadonlyArray<Promise<readonly RenewReply[]>>,
  ): Promise<void> {
    const answers = await Promise.allSettled(asks);
    requests.forEach(({ id }, i) => {
      const isMissing = (_: unknown, place: number): boolean => {
        const answer = answers[place]!;
        return answer.status === 'fulfilled' && answer.value[i] === 'not-held';
      };
      const acquisition = typeof decided[i] === 'number' ? this.acquisitions.get(id) : undefined;
      void acquisition?.reinstatement.reinstate(acquisition.votes.states.filter(isMissing));
    });
  }

  /**
   * Offers a hold on all masters. Waits for a slow one as a renewal does. A master on which the old id has a place in
   * the queue, or may still get a vote, gets a tombstone behind the offer.
   * @throws LockStoreError if so many masters fail that the rest is no majority
   */
  async offer(request: OfferRequest): Promise<OfferReply> {
    const { members, quorum, clock, commandTimeout } = this.context;
    const { key, id } = request;
    const given = this.end(id);
    const round = new Round();
    const asks = members.map((member, i) => {
      const offered = round.ask(member, (store) => store.offer(request));
      const state = given?.votes.states[i];
      if (state?.mayAnswer === true || state?.standing === 'queued') {
        const tombstone = { key, id, tombstoneFor: 2 * commandTimeout, keep: 0, next: undefined };
        member.tell((store) => store.release(tombstone)).catch(() => undefined);
      }
      return offered;
    });
    const terms = { quorum, clock, graceAfter: () => undefined };
    const reply = await gather<OfferReply, RenewReply | 'shared'>(asks, terms, (answers, last) => {
      if (valuesOf(answers).includes('shared')) return 'shared';
      return tallyRenewal(answers as Answers<RenewReply>, quorum, last);
    });
    if (reply instanceof Error) throw reply;
    return reply;
  }

  /** Several keys over several masters cannot be taken in one step. The engine takes them one by one. */
  readonly acquireAll = async (): Promise<undefined> => undefined;

  async replicate(): Promise<number> {
    throw new LockConfigError(
      '`replicas` does not work with several independent masters (Redlock), which take the place of replicas: ' +
        'leave the option out.',
    );
  }

  /**
   * Ends on each master the holds that exist now, or only those with the ids in `hold`. A master that lists its holds after
   * the others have decided ends only holds that the others have named. Its other holds may be newer.
   * @throws LockStoreError if so many masters fail that the rest is no majority
   */
  async forceRelease(key: string, hold?: HoldChoice, by?: string): Promise<ForceReleaseReply> {
    const { members } = this.context;
    const looks = askEach(members, async (store) => (await store.inspect(key)).holds);
    const found = valuesOf(await gatherAll(looks, this.context)).flatMap((holds) => holds.filter(chooser(hold)));
    const named = new Set(found.map(({ id }) => id));
    const ending = new Round();
    const endings = members.map(async (member, i) => {
      const holds = (await looks[i]!).filter(({ id }) => named.has(id));
      return ending.ask(member, (store) => store.endHolds(key, holds, by, REVOKED_MEMORY));
    });
    const replies = valuesOf(await gatherAll(endings, this.context));
    return {
      holds: Math.max(...replies.map(({ holds }) => holds)),
      told: Math.max(...replies.map(({ told }) => told)),
    };
  }

  async inspect(key: string, maxWaiters?: number): Promise<StoredLock> {
    const { members, quorum } = this.context;
    const asks = askEach(members, (store) => store.inspect(key, maxWaiters));
    return mergeInspections(valuesOf(await gatherAll(asks, this.context)), quorum, members.length);
  }

  /**
   * Lists the keys that any master knows. The cursor contains that of each master, or `null` once it has listed all its keys. A
   * master that fails is not asked again in this round: another one also knows each key that a majority holds.
   * @throws LockStoreError if no majority answers
   */
  async list({ cursor, budget }: ListRequest): Promise<ListReply> {
    const { members } = this.context;
    const cursors = cursor === '' ? members.map(() => '') : (JSON.parse(cursor) as ReadonlyArray<string | null>);
    const round = new Round();
    const asks = members.map(async (member, i): Promise<ListReply | undefined> => {
      const place = cursors[i] ?? null;
      return place === null ? undefined : round.ask(member, (store) => store.list({ cursor: place, budget }));
    });
    const answers = await gatherAll(asks, this.context);
    const parts = valuesOf(answers).filter((part) => part !== undefined);
    const next = answers.map((answer) => (answer?.status === 'fulfilled' ? (answer.value?.cursor ?? null) : null));
    return {
      keys: [...new Set(parts.flatMap(({ keys }) => keys))],
      cursor: next.every((each) => each === null) ? undefined : JSON.stringify(next),
      time: parts[0]?.time ?? Date.now(),
    };
  }

  /** A client that receives no grants from a majority joins no queue. Its requests are repeated when it does. */
  private waitingIfListening(request: AcquireRequest): AcquireRequest {
    return this.listening ? request : { ...request, waits: false };
  }

  private open(wanted: AcquireRequest): Acquisition {
    const { id, waits } = wanted;
    const retry = waits ? (): void => this.listener?.retryAfter(id, 0) : undefined;
    const acquisition = new Acquisition(this.context, this.waitingIfListening(wanted), retry);
    if (this.acquisitions.size >= this.sweepAt) this.sweep();
    this.acquisitions.set(id, acquisition);
    return acquisition;
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
    for (const [id, { majority }] of this.acquisitions) {
      if (majority !== undefined && majority.until < now) this.acquisitions.delete(id);
    }
    this.sweepAt = Math.max(SWEEP_AT, 2 * this.acquisitions.size);
  }

  /** The engine counts a lease from its own call, and the masters from when they were asked. */
  private replyOf(id: string, acquisition: Acquisition, outcome: Outcome, called: number): AcquireReply {
    if ('outcome' in outcome) {
      const isContended = ['queued', 'busy'].includes(outcome.outcome);
      if (!(isContended && acquisition.isAwaited) && this.acquisitions.get(id) === acquisition)
        this.acquisitions.delete(id);
      return outcome;
    }
    const { token, batchSize, until, from } = outcome;
    // The drift of the clocks also applies to the time before the request.
    const drift = Math.max(0, called - from) * DRIFT;
    return { outcome: 'held', time: this.context.clock.now(), token, lease: until - called - drift, batchSize };
  }

  private listenTo(member: Member): void {
    member.store.listen({
      granted: (grant) => this.granted(member, grant),
      retryAfter: (id, delay) => this.listener?.retryAfter(id, delay),
      yield: (id) => this.listener?.yield(id),
      revoked: (id, _token, by) => this.revoked(member, id, by),
      opened: () => undefined,
      restored: () => {
        this.membership.recheck();
        this.listener?.restored();
      },
    });
  }

  private granted(member: Member, { key, id }: PushedGrant): void {
    const acquisition = this.acquisitions.get(id);
    if (acquisition !== undefined) return acquisition.pushed(member);
    // No caller needs this hold any more.
    member.ask((store) => store.release({ key, id, tombstoneFor: 0, keep: 0, next: undefined })).catch(() => undefined);
  }

  private revoked(member: Member, id: string, by: string | undefined): void {
    const acquisition = this.acquisitions.get(id);
    if (acquisition?.revoked(member) !== true) return;
    this.acquisitions.delete(id);
    this.listener?.revoked(id, undefined, by);
  }
}

/** The reply to one of the requests that a master got together. */
const partOf = <T>(answer: Answers<readonly T[]>[number], i: number): Answers<T>[number] =>
  answer?.status === 'fulfilled' ? { ...answer, value: answer.value[i]! } : answer;
