import {
  TURNS_ALONE,
  type AcquireReply,
  type AcquireRequest,
  type ContendedReply,
  type ForceReleaseReply,
  type HeldReply,
  type HoldName,
  type ReleaseReply,
  type ReleaseRequest,
  type RenewReply,
  type StoredLock,
} from '../lock-store.js';
import type { FenceReply, FenceRequest, ReinstateReply, ReinstateRequest } from '../quorum-member.js';
import type { Fading } from './fading-map.js';
import { MemoryHolds, type MemoryHold } from './memory-holds.js';
import { admits, exceedsLimit, isClosed, limitFor, reenters, upgrades } from './memory-modes.js';
import { AFTER_END, askTime, freeAt, MemoryQueue, type MemoryTicket } from './memory-queue.js';
import { clientOf, type MemoryServer } from './memory-server.js';

/** A head that asks this long after the first lease before it ends need not be told. */
const HEAD_SLACK = 1_000;
/** So many parked tickets are looked at when nobody else can be granted. */
const PARKED_READ = 3;
/** A number of permits that was set at run time is forgotten when nobody has had one in so many ms: a week. */
const LIMIT_MEMORY = 604_800_000;
/** How many holders a reply names, and how many waiters `inspect` tells at most. */
const MOST_HOLDERS = 4;
const MOST_WAITERS = 1_000;

/** A request whose owner is known: its own id, unless it named another. */
type Request = AcquireRequest & { readonly owner: string };

/**
 * One lock, as the scripts in `lua` treat it: each public method is a script, and each private one has its counterpart
 * of the same name in `lua/shared`. What a script does happens at one moment, `server.now`.
 */
export class MemoryLock implements Fading {
  private readonly holds = new MemoryHolds();
  private readonly queue = new MemoryQueue();
  /** Acquisitions that left before they came → until when that is remembered. */
  private readonly gone = new Map<string, number>();
  private goneUntil = 0;
  private limit: number | undefined;
  private limitUntil = 0;
  private version = 0;

  constructor(
    readonly key: string,
    private readonly server: MemoryServer,
  ) {}

  isOver(now: number): boolean {
    return !this.holds.exist(now) && !this.queue.exists(now) && this.goneUntil <= now && this.limitUntil <= now;
  }

  get isHeld(): boolean {
    return this.holds.exist(this.server.now);
  }

  acquire(written: AcquireRequest): AcquireReply {
    return this.ask(requestOf(written));
  }

  /** As `confirm`: whether there is such a hold. */
  has(id: string): boolean {
    return this.holds.get(id, this.server.now) !== undefined;
  }

  /** Whether `take` would take it without waiting: the half of `acquire-all` that only reads. */
  couldTake(written: AcquireRequest): boolean {
    const { now } = this.server;
    const request = requestOf(written);
    const { holds } = this.holds.read(now);
    if (findHold(holds, request.id) !== undefined) return true;
    if (this.gone.has(request.id) && this.goneUntil > now) return false;
    return reenters(holds, request) || (!this.queue.exists(now) && admits(holds, request, this.limitNow));
  }

  /** The half of `acquire-all` that writes. */
  take(written: AcquireRequest): HeldReply {
    const request = requestOf(written);
    const { holds } = this.holds.read(this.server.now);
    const mine = findHold(holds, request.id);
    return mine === undefined ? this.grantNow(holds, request, 1) : this.held(mine);
  }

  release({ id, remember, keep, next }: ReleaseRequest): ReleaseReply {
    const { now } = this.server;
    const hold = this.holds.get(id, now);
    const released = this.holds.delete(id, now);
    if (keep > 0 && hold !== undefined) {
      // Under a name of its own: a leave that comes late or twice does not end it.
      this.holds.write({ ...hold, id: `${id}/kept`, kept: true, pushed: false, ends: now + keep });
      this.holds.keepUntil(now + keep);
      this.holds.keepAsLongAs(this.holds.read(now).holds);
    }
    if (!released || remember > 0) this.leave(id, remember);
    if (next !== undefined) return { released, next: this.ask(requestOf(next), true) };
    const { holds, ended } = this.holds.read(now);
    this.holds.keepAsLongAs(holds);
    this.settle(holds, ended);
    return { released, next: undefined };
  }

  renew(id: string, lease: number): RenewReply {
    const { now } = this.server;
    const hold = this.holds.get(id, now);
    if (hold === undefined || hold.ends <= now || hold.kept) return 'gone';
    hold.pushed = false;
    hold.ends = Math.max(hold.ends, now + lease);
    this.holds.keepUntil(hold.ends);
    return hold.ends - now;
  }

  extend(id: string, lease: number): RenewReply {
    const { now } = this.server;
    const { holds, ended } = this.holds.read(now);
    const hold = findHold(holds, id);
    if (hold === undefined || hold.kept) return 'gone';
    hold.pushed = false;
    hold.ends = now + lease;
    this.holds.keepAsLongAs(holds);
    this.settle(holds, ended);
    return hold.ends - now;
  }

  fence({ id, token, turns }: FenceRequest): FenceReply {
    const { key, server } = this;
    const lastOfAll = token + turns - 1;
    const hold = findHold(this.holds.read(server.now).holds, id);
    const last = server.lastToken(key);
    if (hold === undefined || hold.kept) {
      if (last < lastOfAll) server.rememberToken(key, lastOfAll, 0);
      return { outcome: 'gone' };
    }
    const lease = hold.ends - server.now;
    const isWritten = hold.token === token && last <= lastOfAll;
    if (last >= token && !isWritten) return { outcome: 'refused', lease, lastToken: last };
    server.rememberToken(key, lastOfAll, lease);
    this.holds.write({ ...hold, token });
    return { outcome: 'written', lease };
  }

  reinstate({ id, owner, mode, lease, latest, token, turns }: ReinstateRequest): ReinstateReply {
    const { now } = this.server;
    if (this.hasLeft(id) || this.hasLeft(revokedName(id))) return 'left';
    const { holds, ended } = this.holds.read(now);
    if (findHold(holds, id) !== undefined) return 'held';
    const ends = Math.min(now + lease, latest ?? Infinity);
    const hold = { id, owner: owner ?? id, mode, kept: false, pushed: false, token, since: now, ends };
    if (ends <= now || !admits(holds, hold, this.limitNow)) return 'missing';
    for (const each of ended) this.holds.delete(each.id, now);
    this.queue.drop(id);
    this.server.rememberToken(this.key, Math.max(this.server.lastToken(this.key), token + turns - 1), lease);
    this.holds.write(hold);
    this.holds.keepAsLongAs([...holds, hold]);
    return 'held';
  }

  /** Which call was the last one to set the number of permits: what `setLimit` is to have seen. */
  get limitVersion(): number {
    return this.limitNow === undefined ? 0 : this.version;
  }

  setLimit(permits: number, seen = this.limitVersion): void {
    const { now, micros } = this.server;
    if (this.limitVersion <= seen) {
      this.version = Math.max(this.limitVersion + 1, micros);
      this.limit = permits;
      this.limitUntil = now + LIMIT_MEMORY;
    }
    const { holds, ended } = this.holds.read(now);
    this.settle(holds, ended);
  }

  /** As `force-release`: ends the named holds; left out, those that there are now. */
  endHolds(names?: readonly HoldName[], memory = 0): ForceReleaseReply {
    const { now } = this.server;
    const { holds, ended } = this.holds.read(now);
    const grantedAt = new Map((names ?? holds).map(({ id, since }) => [id, since]));
    const isNamed = ({ id, since }: MemoryHold): boolean => grantedAt.get(id) === since;
    const revoked = holds.filter(isNamed);
    const kept = holds.filter((hold) => !isNamed(hold));
    for (const { id } of revoked) this.holds.delete(id, now);
    const told = revoked.filter(({ id }) => this.server.isPresent(id)).length;
    for (const { id, token, ends } of revoked) {
      if (memory > 0) this.rememberLeft(revokedName(id), Math.max(ends - now, memory));
      this.server.tell(id, (client) => client.revoked(id, token));
    }
    if (revoked.length > 0) this.holds.keepAsLongAs(kept);
    this.settle(kept, ended);
    return { holds: revoked.length, told };
  }

  inspect(lastToken: number): StoredLock {
    const { now } = this.server;
    const waiters = this.queue
      .readAll(now)
      .slice(0, MOST_WAITERS)
      .filter(({ staleAt }) => staleAt > now);
    return {
      lastToken,
      limit: this.limitNow,
      holds: this.holds.read(now).holds.map(({ ends, pushed: _, ...hold }) => ({ ...hold, ttl: ends - now })),
      waiters: waiters.map(({ id, owner, mode }) => ({ id, owner, mode })),
    };
  }

  /** Asking for the lock: the first time, again while waiting, and for the next local waiter in the step that releases. */
  private ask(request: Request, givesBack = false): AcquireReply {
    const { now } = this.server;
    const { holds, ended } = this.holds.read(now);
    const mine = findHold(holds, request.id);
    if (mine !== undefined) return this.complete(holds, mine, request);
    if (!this.queue.exists(now) && this.goneUntil <= now && admits(holds, request, this.limitNow)) {
      return this.grantNow(holds, request, request.turnsAlone);
    }
    if (this.hasLeft(request.id)) {
      this.settle(holds, ended);
      return { outcome: 'left', time: now };
    }
    if (exceedsLimit(request, this.limitNow)) {
      // It may wait already, from before the number of permits was lowered.
      if (this.queue.drop(request.id)) this.settle(holds, ended);
      return { outcome: 'too many', time: now, limit: limitFor(request.mode, this.limitNow) };
    }
    if (upgrades(holds, request)) {
      // It may wait already, from before its own reader got in.
      if (this.queue.drop(request.id)) this.settle(holds, ended);
      return { outcome: 'upgrade', time: now };
    }
    if (reenters(holds, request)) {
      this.queue.drop(request.id);
      return this.grantNow(holds, request);
    }
    return request.waits ? this.wait(request, holds, ended, givesBack) : this.tryOnce(request, holds, ended);
  }

  private tryOnce(request: Request, holds: MemoryHold[], ended: readonly MemoryHold[]): AcquireReply {
    const { head } = this.settle(holds, ended);
    if (head === undefined && admits(holds, request, this.limitNow)) {
      this.queue.drop(request.id); // from when its client could hear: a ticket of somebody who holds would be granted again
      return this.grantNow(holds, request);
    }
    return this.notHeld('busy', holds, askTime(holds, 0, request, this.server.now));
  }

  private wait(request: Request, holds: MemoryHold[], ended: readonly MemoryHold[], givesBack: boolean): AcquireReply {
    const { now } = this.server;
    const { id, owner, mode, lease, grantTimeout, turns, fair } = request;
    const came = request.age === undefined ? undefined : this.server.micros - request.age * 1_000;
    const isNew = !this.queue.has(id, now);
    const place = this.queue.placeFor(id, came, request.younger, now);
    const before = this.queue.before(place);
    const askAt = askTime(holds, before, request, now);
    const staleAt = now + request.patience;
    this.queue.write({ id, owner, mode, lease, grantTimeout, turns, fair, place, askAt, staleAt }, now);
    this.queue.keepFor(request.patience, now);
    // Behind somebody else who waits, while somebody has the lock alone, nothing has changed that was not seen to already;
    // but for what has just been given back, and a place that an age has changed.
    const changed = givesBack || request.age !== undefined || ended.length > 0;
    const settles = changed || before === 0 || !isClosed(holds);
    const granted = settles ? this.settle(holds, ended, id).turns : 1;
    const mine = findHold(holds, id);
    if (mine !== undefined) return this.held(mine, granted);
    if (fair) this.tellToYield(holds);
    // It has as many turns as it likes, since nobody else waited.
    else if (isNew && before === 0 && holds.length === 1 && this.turnsOf(holds[0]!) >= TURNS_ALONE)
      this.tellToYield(holds);
    return this.notHeld('queued', holds, askAt);
  }

  /**
   * What ask, release, extension and force-release all end in. Grants to the head of the queue, and on to everybody whom
   * the holds admit, so that a lock is never free while somebody waits. Drops tickets that ask for more permits than there
   * are. `asker` is known to be there, and gets its grant
   * as the reply instead of a message. Returns the first ticket that nothing but the holds keeps out, and how many turns
   * the asker has, should it have got it.
   */
  private settle(
    holds: MemoryHold[],
    ended: readonly MemoryHold[],
    asker?: string,
  ): { readonly head: MemoryTicket | undefined; readonly turns: number } {
    const { server } = this;
    const { now } = server;
    this.dropEnded(ended, asker);

    const present = new Map<string, boolean>();
    const isThere = (id: string): boolean => {
      const client = clientOf(id);
      if (!present.has(client)) {
        present.set(client, id === asker || (!this.queue.isPassedOver(client) && server.isPresent(id)));
      }
      return present.get(client) === true;
    };

    const granted: Array<{ readonly hold: MemoryHold; readonly turns: number }> = [];
    const refused: string[] = [];
    let turns = 1;
    let head: MemoryTicket | undefined;
    let ownersMayFollow = false;

    const grantTo = (ticket: MemoryTicket): void => {
      this.queue.drop(ticket.id);
      const pushed = ticket.id !== asker;
      const lease = pushed ? Math.min(ticket.lease, ticket.grantTimeout) : ticket.lease;
      const hold = this.grant(holds, ticket, lease, pushed);
      if (pushed) granted.push({ hold, turns: ticket.turns });
      else turns = ticket.turns;
    };

    for (const ticket of this.queue.read(now)) {
      const { id } = ticket;
      if (ticket.staleAt <= now || findHold(holds, id) !== undefined) {
        this.queue.drop(id);
      } else if (exceedsLimit(ticket, this.limitNow)) {
        this.queue.drop(id);
        refused.push(id);
      } else if (head !== undefined && !reenters(holds, ticket)) {
        continue; // in turn
      } else if (!admits(holds, ticket, this.limitNow)) {
        // It stops those behind it, unless they could come in and it is not there to.
        if (!isClosed(holds) && !isThere(id)) continue;
        head = ticket;
        // Another hold of an owner that has just got in passes those who wait: it may be what the first one needs.
        if (!ownersMayFollow) break;
      } else if (isThere(id)) {
        grantTo(ticket);
        ownersMayFollow ||= ticket.owner !== id;
      } else {
        this.queue.park(ticket); // it keeps its place until it is stale: after a failover everybody is absent for a moment
      }
    }

    // Those who are passed over are so in favour of others, not of a lock that nobody has.
    if (holds.length === 0 && head === undefined) {
      for (const ticket of this.queue.readParked(PARKED_READ)) {
        if (holds.length > 0 || ticket.staleAt <= now || !server.isPresent(ticket.id)) continue;
        if (admits(holds, ticket, this.limitNow)) grantTo(ticket);
      }
    }

    const alone = this.queue.hasFair(now);
    for (const {
      hold: { id, token, ends },
      turns,
    } of granted) {
      const grant = { key: this.key, id, token, lease: ends - now, time: now, turns: alone ? 1 : turns };
      server.tell(id, (client) => client.granted(grant));
    }
    // The answer to their question says why.
    for (const id of refused) server.tell(id, (client) => client.askIn(id, 0));
    const free = head === undefined ? undefined : freeAt(holds, head);
    if (head !== undefined && free !== undefined && head.id !== asker && head.askAt > free + HEAD_SLACK) {
      const { id } = head;
      head.askAt = free + AFTER_END;
      const delay = head.askAt - now;
      server.tell(id, (client) => client.askIn(id, delay));
    }
    return { head, turns: alone ? 1 : turns };
  }

  /** Clients that have not taken what was pushed to them are passed over, if others wait. */
  private dropEnded(ended: readonly MemoryHold[], asker: string | undefined): void {
    const { now } = this.server;
    for (const { id } of ended) this.holds.delete(id, now);
    if (!this.queue.exists(now)) return;
    const clients = ended.filter(({ pushed }) => pushed).map(({ id }) => clientOf(id));
    this.queue.passOver(clients.filter((client) => asker === undefined || client !== clientOf(asker)));
  }

  private grantNow(holds: MemoryHold[], request: Request, turns = request.turns): HeldReply {
    const hold = this.grant(holds, { ...request, turns }, request.lease);
    return this.held(hold, this.turnsOf(hold));
  }

  private tellToYield(holds: readonly MemoryHold[]): void {
    for (const { id } of holds.slice(0, MOST_HOLDERS)) this.server.tell(id, (client) => client.yield(id));
  }

  /** Writes a new hold, with the next fencing token; and with those for its turns, which are its client's to give. */
  private grant(holds: MemoryHold[], { id, owner, mode, turns }: Claimant, lease: number, pushed = false): MemoryHold {
    const { now } = this.server;
    const token = this.server.nextToken(this.key, lease, turns);
    const hold = { id, owner, mode, kept: false, pushed, token, since: now, ends: now + lease };
    holds.push(hold);
    this.holds.write(hold);
    this.holds.keepAsLongAs(holds);
    if (mode.kind === 'permits' && this.limitNow !== undefined) this.limitUntil = now + LIMIT_MEMORY;
    return hold;
  }

  /**
   * A question may come twice: what has been granted already is told again. A pushed grant becomes a full lease then, as
   * if it had been full from the start, so a repeat that arrives late makes no fixed lease longer.
   */
  private complete(holds: readonly MemoryHold[], hold: MemoryHold, { lease, turns }: Request): HeldReply {
    // While it alone has the lock the tokens that came with it are the last ones.
    const alone = holds.length === 1 && turns > 1 && !this.queue.hasFair(this.server.now);
    hold.pushed = false;
    hold.ends = Math.max(hold.ends, hold.since + lease);
    this.holds.keepAsLongAs(holds);
    return this.held(hold, alone ? this.turnsOf(hold) : 1);
  }

  /** How many tokens came with the last grant, that of `hold`. */
  private turnsOf({ token }: MemoryHold): number {
    return this.server.lastToken(this.key) - token + 1;
  }

  private leave(id: string, remember: number): void {
    this.queue.drop(id);
    if (remember > 0) this.rememberLeft(id, remember);
  }

  private rememberLeft(id: string, memory: number): void {
    const { now } = this.server;
    for (const [left, until] of this.gone) if (until <= now) this.gone.delete(left);
    this.gone.set(id, now + memory);
    this.goneUntil = Math.max(this.goneUntil, now + memory);
  }

  private hasLeft(id: string): boolean {
    return (this.gone.get(id) ?? 0) > this.server.now;
  }

  private held({ token, ends }: MemoryHold, turns = 1): HeldReply {
    const { now } = this.server;
    return { outcome: 'held', time: now, token, lease: ends - now, turns };
  }

  private notHeld(outcome: ContendedReply['outcome'], holds: readonly MemoryHold[], askAt: number): ContendedReply {
    const { now } = this.server;
    const holders = holds.slice(0, MOST_HOLDERS).filter(({ kept }) => !kept);
    return {
      outcome,
      time: now,
      askIn: askAt - now,
      lastToken: this.server.lastToken(this.key),
      holders: holders.map(({ id }) => id),
    };
  }

  /** The number of permits, where it was set at run time. */
  private get limitNow(): number | undefined {
    return this.limitUntil > this.server.now ? this.limit : undefined;
  }
}

type Claimant = Pick<MemoryTicket, 'id' | 'owner' | 'mode' | 'turns'>;

/** The name under which it is remembered that a hold was ended by force. Its acquisition may be granted again. */
const revokedName = (id: string): string => `revoked:${id}`;

const requestOf = (request: AcquireRequest): Request => ({ ...request, owner: request.owner ?? request.id });

const findHold = (holds: readonly MemoryHold[], id: string): MemoryHold | undefined =>
  holds.find((hold) => hold.id === id);
