import {
  chooser,
  UNCONTENDED_BATCH_SIZE,
  type HoldChoice,
  type AcquireReply,
  type AcquireRequest,
  type ContendedReply,
  type ForceReleaseReply,
  type HeldReply,
  type HoldMode,
  type LockStoreListener,
  type OfferReply,
  type OfferRequest,
  type ReleaseReply,
  type ReleaseRequest,
  type RenewReply,
  type StoredHold,
  type StoredLock,
} from '../lock-store.js';
import type { AddPermitsRequest, KeepUnitsRequest } from '../permit-store.js';
import {
  LIMIT_RETENTION,
  MAX_HOLDERS,
  MAX_TOKENS_AHEAD,
  MOST_PERMITS,
  RETRY_AFTER_EXPIRY,
} from '../protocol.generated.js';

/** What a lock needs of its surroundings. */
export interface MemoryServer {
  /** The time of the running call, in ms. */
  readonly now: number;
  /** The same in microseconds. */
  readonly micros: number;
  /** Whether a client receives messages. */
  isPresent(client: string): boolean;
  /** Sends a message to a client, after the reply to the running call. */
  tell(client: string, message: (listener: LockStoreListener) => void): void;
}

/** A request with its owner: its own id, unless it names another one. */
type Request = AcquireRequest & { readonly owner: string };

/** What a grant needs to know of its request. */
type Terms = Pick<Request, 'id' | 'owner' | 'mode' | 'lease' | 'slots' | 'fair'>;

/** A place in the queue. Its client keeps it until it is granted or released. */
interface Ticket extends Request {
  readonly since: number;
  /** When its client retries, unless a message makes it retry earlier. */
  retryAt: number;
}

interface Hold extends Omit<StoredHold, 'ttl'> {
  ends: number;
  /** The number of its tokens. */
  readonly batchSize: number;
  /** It has an uncontended batch, and no other request has come since. */
  isAlone: boolean;
}

type Permits = Extract<HoldMode, { readonly kind: 'permits' }>;

const clientOf = (id: string): string => id.slice(0, Math.max(0, id.indexOf(':')));
const unitsOf = (mode: HoldMode): number => (mode.kind === 'permits' ? mode.units : 0);

/** One lock: its holds and its queue. Each public method is a call of the port, and runs at one moment. */
export class MemoryLock {
  private readonly holds = new Map<string, Hold>();
  /** The tickets in the order of arrival. A retry keeps its place. */
  private readonly queue = new Map<string, Ticket>();
  private lastToken = 0;
  /** The number of permits that was set at run time. */
  private limit: { readonly permits: number; readonly until: number } | undefined;

  constructor(
    readonly key: string,
    private readonly server: MemoryServer,
  ) {}

  get isHeld(): boolean {
    return this.current().length > 0;
  }

  /** Whether nothing is lost without it: tokens follow the clock, so the clock has to pass the last one first. */
  isExpired(): boolean {
    const isUnused = this.queue.size === 0 && !this.isHeld && this.currentLimit() === undefined;
    return isUnused && this.lastToken < this.server.micros;
  }

  acquire(asked: AcquireRequest): AcquireReply {
    const request = withOwner(asked);
    const { id, mode, batchSize } = request;
    const { now } = this.server;
    if (request.adopts !== undefined) return this.handOver(request.adopts, id, request.lease);
    const held = this.find(id);
    if (held !== undefined) return this.repeat(held, request);
    if (this.isTooLarge(mode) || this.upgrades(request)) {
      // The request may have a ticket from before the number of permits, or the holds of its owner, have changed.
      this.queue.delete(id);
      this.serve();
      return this.isTooLarge(mode)
        ? { outcome: 'too many', time: now, limit: this.limitOf(mode) }
        : { outcome: 'upgrade', time: now };
    }
    const tokens = this.queue.size === 0 ? request.uncontendedBatchSize : batchSize;
    if (this.reenters(request) || (this.queue.size === 0 && this.admits(request))) {
      return this.held(this.grant(request, tokens));
    }
    return request.waits ? this.enqueue(request) : this.tryOnce(request, tokens);
  }

  release({ id, keep, next }: ReleaseRequest): ReleaseReply {
    const hold = this.find(id);
    this.holds.delete(id);
    this.queue.delete(id);
    // Under a name of its own, since the acquisition is over.
    if (hold !== undefined && keep > 0) this.keep(hold, `${id}/kept`, keep);
    const reply = next && this.acquire(next);
    this.serve();
    return { released: hold !== undefined, next: reply };
  }

  renew(id: string, lease: number): RenewReply {
    const hold = this.find(id);
    if (hold === undefined || hold.kept) return 'not-held';
    hold.ends = Math.max(hold.ends, this.server.now + lease);
    return hold.ends - this.server.now;
  }

  /**
   * What keeps a request from an immediate grant: the ids of some holders, or `'unknown'` if only `acquire` can tell.
   * `undefined`: `acquire` would grant it.
   */
  obstacleTo(asked: AcquireRequest): readonly string[] | 'unknown' | undefined {
    const request = withOwner(asked);
    if (this.find(request.id) !== undefined || this.reenters(request)) return undefined;
    if (this.isTooLarge(request.mode) || this.upgrades(request)) return 'unknown';
    if (!this.admits(request)) return this.holders();
    return this.queue.size === 0 ? undefined : 'unknown';
  }

  offer({ id, offer, lease }: OfferRequest): OfferReply {
    const reply = this.handOver(id, offer, lease);
    return reply.outcome === 'held' ? reply.lease : reply.outcome === 'upgrade' ? 'shared' : 'not-held';
  }

  has(id: string): boolean {
    return this.find(id) !== undefined;
  }

  setLimit(permits: number): void {
    this.limit = { permits, until: this.server.now + LIMIT_RETENTION };
    this.serve();
    // Otherwise holders would hand off permits although there are too many.
    if (this.usedPermits() > permits) this.endBatches(({ mode }) => mode.kind === 'permits');
  }

  addToLimit({ change, permits }: AddPermitsRequest): number {
    const sum = Math.min(
      Math.max(0, this.limitOf({ kind: 'permits', units: 0, limit: permits }) + change),
      MOST_PERMITS,
    );
    this.setLimit(sum);
    return sum;
  }

  keepUnits({ id, units, keep }: KeepUnitsRequest): number | 'not-held' {
    const hold = this.find(id);
    if (hold === undefined || hold.kept || hold.mode.kind !== 'permits') return 'not-held';
    const left = Math.min(hold.mode.units, units);
    const released = { ...hold.mode, units: hold.mode.units - left };
    this.holds.set(id, { ...hold, mode: { ...hold.mode, units: left } });
    if (released.units > 0 && keep > 0) this.keep({ ...hold, mode: released }, `${id}/kept${left}`, keep);
    this.serve();
    return left;
  }

  forceRelease(choice: HoldChoice, by: string | undefined): ForceReleaseReply {
    const ended = this.current().filter(chooser(choice));
    const told = ended.filter(({ id }) => this.server.isPresent(clientOf(id))).length;
    for (const { id, token } of ended) {
      this.holds.delete(id);
      this.tell(id, (client) => client.revoked(id, token, by, next));
    }
    // The messages leave after this call.
    const next = this.serve()[0]?.id;
    return { holds: ended.length, told };
  }

  /** Removes the tickets of a client that is gone. Its holds last as long as their leases. */
  leave(client: string): void {
    for (const id of this.queue.keys()) if (clientOf(id) === client) this.queue.delete(id);
    this.serve();
  }

  inspect(): StoredLock {
    const { now } = this.server;
    return {
      lastToken: this.lastToken,
      limit: this.currentLimit(),
      holds: this.current().map(({ ends, batchSize: _, isAlone: __, ...hold }) => ({ ...hold, ttl: ends - now })),
      waiters: [...this.queue.values()].map(({ id, owner, mode, since }) => ({ id, owner, mode, since })),
    };
  }

  /** A request that has been granted may come again: it finds its hold, with the lease that it asks for. */
  private repeat(hold: Hold, { lease, mode, batchSize, fair }: Request): HeldReply {
    hold.ends = Math.max(hold.ends, hold.since + lease);
    const isOnly = this.current().length === 1;
    const servesBatch = hold.mode.kind === 'exclusive' && isOnly && batchSize > 1 && !fair && !this.hasFair();
    const slots = Math.max(1, Math.floor((unitsOf(hold.mode) || 1) / (unitsOf(mode) || 1)));
    return this.held(hold, servesBatch ? hold.batchSize : slots);
  }

  /** Gives a hold another id, the next token and a new lease. */
  private handOver(from: string, to: string, lease: number): AcquireReply {
    const { now } = this.server;
    const moved = this.find(to);
    if (moved !== undefined) return this.held(moved, 1);
    const hold = this.find(from);
    if (hold === undefined || hold.kept) return { outcome: 'left', time: now };
    const isOther = (other: Hold): boolean => other !== hold && !other.kept && other.owner === hold.owner;
    if (this.current().some(isOther)) return { outcome: 'upgrade', time: now };
    this.holds.delete(from);
    const granted = this.grant({ id: to, owner: to, mode: hold.mode, lease, fair: false }, 1);
    this.serve();
    return this.held(granted);
  }

  private tryOnce(request: Request, tokens: number): AcquireReply {
    this.serve();
    const { mode } = request;
    // 0 units: all permits that are free.
    const drains = mode.kind === 'permits' && mode.units === 0;
    const claim = drains ? { ...request, mode: { ...mode, units: this.freePermits(mode) }, slots: 1 } : request;
    if (this.queue.size === 0 && this.admits(claim)) return this.held(this.grant(claim, tokens));
    return this.contended('busy', this.retryTime(request));
  }

  private enqueue(request: Request): AcquireReply {
    const { id, mode, fair, period } = request;
    const { now } = this.server;
    const known = this.queue.get(id);
    const ticket = { ...request, since: known?.since ?? now, retryAt: now + period };
    this.queue.set(id, ticket);
    this.serve(id);
    const granted = this.holds.get(id);
    if (granted !== undefined) return this.held(granted, this.hasFair() ? 1 : granted.batchSize);

    // Readers of their clients might join the holds, and overtake this request.
    const stopsReaders = known === undefined && mode.kind !== 'read' && this.current().some(isRead);
    if (fair || stopsReaders) this.endBatches(() => true);
    else {
      const isOther = (hold: Hold): boolean => hold.mode.kind !== 'permits' || clientOf(hold.id) !== clientOf(id);
      this.endBatches((hold) => hold.isAlone && isOther(hold), Infinity);
    }
    const [head] = this.queue.keys();
    if (head === id) ticket.retryAt = this.retryTime(request);
    return this.contended('queued', ticket.retryAt);
  }

  /**
   * Grants the lock to the head of the queue, and to every further waiter that the holds admit. `asker` gets its grant as
   * the reply, the other waiters get a message. Returns the new holds.
   */
  private serve(asker?: string): Hold[] {
    const granted: Hold[] = [];
    let head: Ticket | undefined;
    let ownersMayFollow = false;
    for (const ticket of this.queue.values()) {
      const { id, owner } = ticket;
      if (this.isTooLarge(ticket.mode)) {
        this.queue.delete(id);
        this.tell(id, (client) => client.retryAfter(id, 0)); // the reply to the retry says why
      } else if (head === undefined ? this.admits(ticket) : this.reenters(ticket)) {
        granted.push(this.grant(ticket, ticket.batchSize));
        // Another request of this owner passes the head: the first hold may wait for it.
        ownersMayFollow ||= owner !== id;
      } else {
        head ??= ticket;
        if (!ownersMayFollow) break;
      }
    }
    this.announce(granted, asker);
    if (head !== undefined && head.id !== asker) this.hurry(head);
    return granted;
  }

  private announce(granted: readonly Hold[], asker: string | undefined): void {
    // While a fair request waits, no grant serves a batch, and no other reader joins a hold.
    const isSingle = granted.length > 0 && this.hasFair();
    if (isSingle) for (const { id } of granted.filter(isRead)) this.tell(id, (client) => client.yield(id));
    for (const hold of granted) {
      const { id } = hold;
      const { outcome: _, ...grant } = this.held(hold, isSingle ? 1 : hold.batchSize);
      if (id !== asker) this.tell(id, (client) => client.granted({ key: this.key, id, ...grant }));
    }
  }

  /** Tells the head of the queue to retry earlier, if the lease that blocks it ends earlier than its last reply said. */
  private hurry(head: Ticket): void {
    const { id, retryAt } = head;
    head.retryAt = Math.min(retryAt, this.freeAt(head.mode) + RETRY_AFTER_EXPIRY);
    const delay = head.retryAt - this.server.now;
    if (head.retryAt < retryAt) this.tell(id, (client) => client.retryAfter(id, delay));
  }

  /** Has some holders end their batches. */
  private endBatches(isMeant: (hold: Hold) => boolean, most = MAX_HOLDERS): void {
    const meant = this.current().filter((hold) => !hold.kept && isMeant(hold));
    for (const hold of meant.slice(0, most)) {
      hold.isAlone = false;
      this.tell(hold.id, (client) => client.yield(hold.id));
    }
  }

  /** Adds a hold with as many tokens as its batch has waiters, and at least one for each slot. */
  private grant(request: Terms, batchSize: number): Hold {
    const { id, owner, lease } = request;
    const { now, micros } = this.server;
    this.queue.delete(id);
    const slots = this.slotsFor(request);
    const asked = request.mode;
    const mode = asked.kind === 'permits' ? { ...asked, units: slots * asked.units } : asked;
    const token = Math.max(this.lastToken + 1, micros);
    const tokens = Math.max(slots, token > micros ? Math.min(batchSize, MAX_TOKENS_AHEAD) : batchSize);
    this.lastToken = token + tokens - 1;
    const isAlone = batchSize >= UNCONTENDED_BATCH_SIZE;
    const hold = { id, owner, mode, kept: false, token, batchSize: tokens, since: now, ends: now + lease, isAlone };
    this.holds.set(id, hold);
    const limit = this.currentLimit();
    if (mode.kind === 'permits' && limit !== undefined) this.limit = { permits: limit, until: now + LIMIT_RETENTION };
    return hold;
  }

  /** How many waiters of its client a grant serves at the same time. */
  private slotsFor({ mode, slots = 1, fair }: Terms): number {
    if (mode.kind !== 'permits' || slots === 1 || fair || this.hasFair()) return 1;
    return Math.max(1, Math.min(slots, Math.floor(this.freePermits(mode) / mode.units)));
  }

  private keep(hold: Hold, id: string, time: number): void {
    this.holds.set(id, { ...hold, id, kept: true, isAlone: false, ends: this.server.now + time });
  }

  private admits(request: Request): boolean {
    const { mode } = request;
    const holds = this.current();
    if (mode.kind === 'permits') return mode.units > 0 && mode.units <= this.freePermits(mode);
    return holds.length === 0 || this.reenters(request) || (mode.kind === 'read' && holds.every(isRead));
  }

  /** Whether the owner holds the lock in a mode that admits the request: an exclusive holder may also read. */
  private reenters({ owner, mode }: Request): boolean {
    if (mode.kind === 'permits') return false;
    return this.owns(owner, 'exclusive') || (mode.kind === 'read' && this.owns(owner, 'read'));
  }

  /** Whether a reader requests the exclusive lock. It would wait for itself. */
  private upgrades({ owner, mode }: Request): boolean {
    return mode.kind === 'exclusive' && this.owns(owner, 'read') && !this.owns(owner, 'exclusive');
  }

  private owns(owner: string, kind: HoldMode['kind']): boolean {
    return this.current().some((hold) => hold.owner === owner && hold.mode.kind === kind && !hold.kept);
  }

  /** Whether a request asks for more permits than exist. With a limit of 0 the semaphore is paused, and requests wait. */
  private isTooLarge(mode: HoldMode): boolean {
    const limit = this.limitOf(mode);
    return mode.kind === 'permits' && limit > 0 && mode.units > limit;
  }

  /** The number of permits: as set at run time, otherwise as the request states. */
  private limitOf(mode: HoldMode): number {
    return this.currentLimit() ?? (mode.kind === 'permits' ? mode.limit : 0);
  }

  private currentLimit(): number | undefined {
    return this.limit !== undefined && this.limit.until > this.server.now ? this.limit.permits : undefined;
  }

  /** How many permits are free; none beside other kinds of holds. */
  private freePermits(mode: Permits): number {
    return this.current().every((hold) => hold.mode.kind === 'permits') ? this.limitOf(mode) - this.usedPermits() : 0;
  }

  private usedPermits(): number {
    return this.current().reduce((sum, { mode }) => sum + unitsOf(mode), 0);
  }

  private hasFair(): boolean {
    for (const { fair } of this.queue.values()) if (fair) return true;
    return false;
  }

  /** When a request has to retry that is the next one: after its period, or when the leases that block it end. */
  private retryTime({ mode, period }: Request): number {
    return Math.min(this.server.now + period, this.freeAt(mode) + RETRY_AFTER_EXPIRY);
  }

  /** An exclusive request needs the end of all leases, any other one the end of the first. */
  private freeAt(mode: HoldMode): number {
    const ends = this.current().map((hold) => hold.ends);
    if (ends.length === 0) return Infinity;
    return mode.kind === 'exclusive' ? Math.max(...ends) : Math.min(...ends);
  }

  private find(id: string): Hold | undefined {
    const hold = this.holds.get(id);
    return hold !== undefined && hold.ends > this.server.now ? hold : undefined;
  }

  /** The holds whose leases run. Removes the others. */
  private current(): Hold[] {
    for (const { id, ends } of this.holds.values()) if (ends <= this.server.now) this.holds.delete(id);
    return [...this.holds.values()];
  }

  private held({ token, ends, mode, ...hold }: Hold, batchSize = hold.batchSize): HeldReply {
    const { now } = this.server;
    const units = mode.kind === 'permits' ? { units: mode.units } : {};
    return { outcome: 'held', time: now, token, lease: ends - now, batchSize, ...units };
  }

  private contended(outcome: ContendedReply['outcome'], retryAt: number): ContendedReply {
    const { now } = this.server;
    return { outcome, time: now, retryAfter: retryAt - now, lastToken: this.lastToken, holders: this.holders() };
  }

  /** The ids of some of the holders. */
  private holders(): string[] {
    const holds = this.current().filter(({ kept }) => !kept);
    return holds.slice(0, MAX_HOLDERS).map(({ id }) => id);
  }

  private tell(id: string, message: (client: LockStoreListener) => void): void {
    this.server.tell(clientOf(id), message);
  }
}

const isRead = ({ mode }: Hold): boolean => mode.kind === 'read';

const withOwner = (request: AcquireRequest): Request => ({ ...request, owner: request.owner ?? request.id });
