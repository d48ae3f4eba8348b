import type {
  AcquireReply,
  AcquireRequest,
  ForceReleaseReply,
  HeldReply,
  HoldName,
  OfferReply,
  OfferRequest,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  StoredLock,
} from '../lock-store.js';
import type { FenceReply, FenceRequest, ReinstateReply, ReinstateRequest } from '../quorum-member.js';
import type { Expiring } from './expiring-map.js';
import { grantWaiters } from './memory-grant-waiters.js';
import { adopt, offer } from './memory-handover.js';
import type { MemoryHold } from './memory-holds.js';
import { findHold, MemoryLockState, ownedRequest } from './memory-lock-state.js';
import { admits, exceedsLimit, reenters, upgrades, usedPermits } from './memory-modes.js';
import type { MemoryServer } from './memory-server.js';
import { revocationOf } from './memory-tombstones.js';
import { tryAcquire } from './memory-try-acquire.js';
import { chooser, type HoldChoice } from '../hold-choice.js';

/** For how many ms a call that has added permits is remembered. */
const ADD_MEMORY = 60_000;
/** `inspect` returns at most this many waiters. */
const MAX_WAITERS = 1_000;

/**
 * One lock with the scripts of `lua`. Each public method is a script and runs at one moment, `server.now`. The parts of
 * the scripts are in files of the same names: `memory-try-acquire.ts` for `lua/shared/try-acquire.lua`.
 */
export class MemoryLock implements Expiring {
  private readonly state: MemoryLockState;

  constructor(
    readonly key: string,
    private readonly server: MemoryServer,
  ) {
    this.state = new MemoryLockState(key, server);
  }

  isExpired(now: number): boolean {
    return this.state.isEmpty(now);
  }

  get isHeld(): boolean {
    return this.state.holds.exist(this.server.now);
  }

  acquire(request: AcquireRequest): AcquireReply {
    if (request.adopts !== undefined) return adopt(this.state, request, request.adopts);
    return tryAcquire(this.state, ownedRequest(request));
  }

  offer(request: OfferRequest): OfferReply {
    return offer(this.state, request);
  }

  /** As `confirm`: whether the hold exists. */
  has(id: string): boolean {
    return this.state.holds.get(id, this.server.now) !== undefined;
  }

  /**
   * The half of `acquire-all` that only reads: the ids of the holders that keep the lock from a request, or `'unknown'` if
   * only `tryAcquire` can tell. `undefined`: `take` would succeed.
   */
  obstacleTo(wanted: AcquireRequest): readonly string[] | 'unknown' | undefined {
    const { state } = this;
    const { now } = this.server;
    const request = ownedRequest(wanted);
    const { holds } = state.holds.read(now);
    if (findHold(holds, request.id) !== undefined) return undefined;
    const isRefused = upgrades(holds, request) || exceedsLimit(request, state.limit.value);
    if (state.tombstones.has(request.id) || isRefused) return 'unknown';
    if (reenters(holds, request)) return undefined;
    if (!state.admits(holds, request)) return state.notHeld('busy', holds, now).holders;
    return state.queue.exists(now) ? 'unknown' : undefined;
  }

  /** The half of `acquire-all` that writes. */
  take(wanted: AcquireRequest): HeldReply {
    const request = ownedRequest(wanted);
    const { holds } = this.state.holds.read(this.server.now);
    const mine = findHold(holds, request.id);
    return mine === undefined ? this.state.grantNow(holds, request, 1) : this.state.held(mine);
  }

  release({ id, tombstoneFor, keep, next }: ReleaseRequest): ReleaseReply {
    const { now } = this.server;
    const { holds: stored, queue, tombstones } = this.state;
    const hold = stored.get(id, now);
    const released = stored.delete(id, now);
    if (keep > 0 && hold !== undefined) {
      // Under a name of its own: a duplicate of the release does not end it.
      stored.write({ ...hold, id: `${id}/kept`, kept: true, pushed: false, alone: false, ends: now + keep });
      stored.keepUntil(now + keep);
      stored.keepAsLongAs(stored.read(now).holds);
    }
    if (!released || tombstoneFor > 0) {
      queue.drop(id);
      if (tombstoneFor > 0) tombstones.write(id, tombstoneFor);
    }
    if (next !== undefined) return { released, next: tryAcquire(this.state, ownedRequest(next), true) };
    const { holds, ended } = stored.read(now);
    stored.keepAsLongAs(holds);
    grantWaiters(this.state, holds, ended);
    return { released, next: undefined };
  }

  renew(id: string, lease: number): RenewReply {
    const { now } = this.server;
    const hold = this.state.holds.get(id, now);
    if (hold === undefined || hold.ends <= now || hold.kept) return 'not-held';
    hold.pushed = false;
    hold.ends = Math.max(hold.ends, now + lease);
    this.state.holds.keepUntil(hold.ends);
    return hold.ends - now;
  }

  extend(id: string, lease: number): RenewReply {
    const { now } = this.server;
    const { holds, ended } = this.state.holds.read(now);
    const hold = findHold(holds, id);
    if (hold === undefined || hold.kept) return 'not-held';
    hold.pushed = false;
    hold.ends = now + lease;
    this.state.holds.keepAsLongAs(holds);
    grantWaiters(this.state, holds, ended);
    return hold.ends - now;
  }

  fence({ id, token, batchSize }: FenceRequest): FenceReply {
    const { key, server } = this;
    const lastOfAll = token + batchSize - 1;
    const hold = findHold(this.state.holds.read(server.now).holds, id);
    const last = server.lastToken(key);
    if (hold === undefined || hold.kept) {
      if (last < lastOfAll) server.rememberToken(key, lastOfAll, 0);
      return { outcome: 'not-held' };
    }
    const lease = hold.ends - server.now;
    const isWritten = hold.token === token && last <= lastOfAll;
    if (last >= token && !isWritten) return { outcome: 'refused', lease, lastToken: last };
    server.rememberToken(key, lastOfAll, lease);
    this.state.holds.write({ ...hold, token });
    return { outcome: 'written', lease };
  }

  reinstate({ id, owner, mode, lease, latest, token, batchSize }: ReinstateRequest): ReinstateReply {
    const { server, key } = this;
    const { now } = server;
    const { holds: stored, queue, tombstones, limit } = this.state;
    if (tombstones.has(id) || tombstones.has(revocationOf(id))) return 'left';
    const { holds, ended } = stored.read(now);
    if (findHold(holds, id) !== undefined) return 'held';
    const ends = Math.min(now + lease, latest ?? Infinity);
    const hold = { id, owner: owner ?? id, mode, kept: false, pushed: false, token, since: now, ends };
    if (ends <= now || !admits(holds, hold, limit.value)) return 'missing';
    for (const each of ended) stored.delete(each.id, now);
    queue.drop(id);
    server.rememberToken(key, Math.max(server.lastToken(key), token + batchSize - 1), lease);
    stored.write(hold);
    stored.keepAsLongAs([...holds, hold]);
    return 'held';
  }

  /** Names the last call that set the number of permits: the version that `setLimit` has to see. */
  get limitVersion(): number {
    return this.state.limit.version;
  }

  setLimit(permits: number, seen = this.limitVersion): void {
    this.state.limit.set(permits, seen);
    this.grantWithinLimit(this.state.limit.value!);
  }

  /** As `add-limit`. */
  addToLimit(id: string, change: number, stated: number): number {
    const { limit, tombstones } = this.state;
    const record = `added:${id}`;
    if (!tombstones.has(record)) {
      tombstones.write(record, ADD_MEMORY);
      limit.add(Math.max(0, (limit.value ?? stated) + change));
    }
    const permits = limit.value ?? stated;
    this.grantWithinLimit(permits);
    return permits;
  }

  /** Grants to the waiters that fit. Without a message, holders would hand off permits although there are too many. */
  private grantWithinLimit(limit: number): void {
    const { holds, ended } = this.state.holds.read(this.server.now);
    grantWaiters(this.state, holds, ended);
    if (usedPermits(holds) > limit) this.state.endBatches(holds, ({ mode }) => mode.kind === 'permits');
  }

  /** As `keep-units`. */
  keepUnits(id: string, units: number, keep: number): number | 'not-held' {
    const { now } = this.server;
    const stored = this.state.holds;
    const { holds, ended } = stored.read(now);
    const hold = findHold(holds, id);
    if (hold === undefined || hold.kept || hold.mode.kind !== 'permits') return 'not-held';
    const left = Math.min(hold.mode.units, units);
    const released = hold.mode.units - left;
    const all = holds.filter((other) => other !== hold);
    all.push({ ...hold, mode: { ...hold.mode, units: left }, pushed: hold.pushed && released === 0 });
    if (released > 0 && keep > 0) {
      const mode = { ...hold.mode, units: released };
      all.push({ ...hold, id: `${id}/kept${left}`, mode, kept: true, pushed: false, ends: now + keep });
    }
    for (const each of all) stored.write(each);
    stored.keepAsLongAs(all);
    grantWaiters(this.state, all, ended);
    return left;
  }

  /** The hold with this id, as `endHolds` takes it. */
  named(choice: HoldChoice): HoldName[] {
    return this.state.holds.read(this.server.now).holds.filter(chooser(choice));
  }

  /** As `force-release`: ends the named holds; if `names` is left out, the holds that exist now. */
  endHolds(names?: readonly HoldName[], tombstoneFor = 0): ForceReleaseReply {
    const { now } = this.server;
    const { holds: stored, tombstones } = this.state;
    const { holds, ended } = stored.read(now);
    const grantedAt = new Map((names ?? holds).map(({ id, since }) => [id, since]));
    const isNamed = ({ id, since }: MemoryHold): boolean => grantedAt.get(id) === since;
    const revoked = holds.filter(isNamed);
    const kept = holds.filter((hold) => !isNamed(hold));
    for (const { id } of revoked) stored.delete(id, now);
    const told = revoked.filter(({ id }) => this.server.isPresent(id)).length;
    for (const { id, token, ends } of revoked) {
      if (tombstoneFor > 0) tombstones.write(revocationOf(id), Math.max(ends - now, tombstoneFor));
      this.server.tell(id, (client) => client.revoked(id, token));
    }
    if (revoked.length > 0) stored.keepAsLongAs(kept);
    grantWaiters(this.state, kept, ended);
    return { holds: revoked.length, told };
  }

  inspect(lastToken: number): StoredLock {
    const { now } = this.server;
    const waiters = this.state.queue
      .readAll(now)
      .slice(0, MAX_WAITERS)
      .filter(({ staleAt }) => staleAt > now);
    return {
      lastToken,
      limit: this.state.limit.value,
      holds: this.state.holds
        .read(now)
        .holds.map(({ ends, pushed: _, alone: __, ...hold }) => ({ ...hold, ttl: ends - now })),
      waiters: waiters.map(({ id, owner, mode, since }) => ({ id, owner, mode, since })),
    };
  }
}
