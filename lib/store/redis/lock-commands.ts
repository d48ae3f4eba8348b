import { readingClock } from '../../common/reading-timer.js';
import { LockStoreError } from '../../errors/index.js';
import type {
  AcquireReply,
  AcquireRequest,
  HoldName,
  ReleaseReply,
  ReleaseRequest,
  StoredLock,
} from '../lock-store.js';
import type { AddPermitsRequest, KeepUnitsRequest } from '../permit-store.js';
import type { Connection } from './connection.js';
import {
  address,
  readAcquireReply,
  readHandOverReply,
  readInspectReply,
  readReleaseReply,
  writeMode,
  type AcquireAnswer,
} from './replies.js';
import { integer, matching, natural, tuple } from './reply-readers.js';
import type { LockKeys } from './script-keys.js';
import type { ScriptRunner } from './script-runner.js';
import { SubscriptionEvidence } from './subscription-evidence.js';

/** How many holds one command ends at most, so that it does not block the server. */
const HOLDS_PER_COMMAND = 10;
/** How many waiters one command reads at most. */
const WAITERS_PER_COMMAND = 48;
/**
 * Redis executes an `addLimit` for at most this many `commandTimeout`s, and remembers it as long. A dead connection is
 * detected after three. Then ioredis sends again every command that got no reply.
 */
const MEMORY = 5;

/** The scripts that publish messages and therefore take an address. */
type ScriptWithAddress = 'acquire' | 'handOver' | 'release' | 'forceRelease' | 'setLimit' | 'addLimit' | 'keepUnits';

/**
 * Sends the scripts that grant locks. A script looks at a part of a long queue only, so further commands may have to
 * continue from there.
 */
export class LockCommands {
  readonly evidence: SubscriptionEvidence;

  constructor(
    private readonly clientId: string,
    private readonly scripts: ScriptRunner,
    private readonly connection: Connection,
    private readonly keys: LockKeys,
    /** ms */
    private readonly commandTimeout: number,
    private readonly clock = readingClock,
  ) {
    this.evidence = new SubscriptionEvidence(clock);
  }

  /**
   * Sends a request, and repeats it until the scripts have looked at the whole queue. `place`: where to begin in the
   * queue.
   */
  acquire(request: AcquireRequest, place = 0): Promise<AcquireReply> {
    const weigh = this.weighing(request);
    const { key } = request;
    const args = withAddress(this.address(key), this.requestArgs(request, place));
    return this.scripts.run('acquire', this.keys.of(key), args, (raw, sentTo) => {
      const answer = readAcquireReply(raw, request);
      weigh?.(answer);
      const { reply, more, sign } = answer;
      // The grant may come from the backlog of a master that was replaced, as a message about it.
      const confirmed =
        sign === 'found' ? this.connection.masters?.confirm(this.keys.of(key).names[0]!, sentTo) : undefined;
      if (confirmed !== undefined) return confirmed.then((isMaster) => (isMaster ? reply : this.acquire(request)));
      if (more === undefined) return reply;
      const isWaiting = reply.outcome === 'queued' || reply.outcome === 'busy';
      // A request that was granted or refused does not go on itself.
      return isWaiting ? this.acquire(request, more) : this.grantRemaining(key, more).then(() => reply);
    });
  }

  /** Gives a hold another id and a new lease: that of an offer, or of the client that takes it over. */
  async handOver(key: string, from: string, to: string, lease: number): Promise<AcquireReply> {
    const reply = await this.run('handOver', key, [from, to, lease], readHandOverReply);
    // Each further command looks at more of many holds.
    return reply ?? this.handOver(key, from, to, lease);
  }

  /** Releases a hold or gives up a place, and sends the next request in the same step. */
  release({ key, id, tombstoneFor, keep, next }: ReleaseRequest): Promise<ReleaseReply> {
    const what = [this.address(key), id, `${tombstoneFor} ${keep} 0`];
    const args = next === undefined ? what : [...what, ...this.requestArgs(next)];
    const weigh = next && this.weighing(next);
    return this.scripts.run('release', this.keys.of(key), args, (raw): ReleaseReply | Promise<ReleaseReply> => {
      const { reply, more, asked } = readReleaseReply(raw, next !== undefined);
      if (asked !== undefined) weigh?.(asked);
      if (more !== undefined) return this.grantRemaining(key, more, id).then(() => reply);
      if (next === undefined || asked?.more === undefined) return reply;
      return this.acquire(next, asked.more).then((answer) => ({ ...reply, next: answer }));
    });
  }

  /**
   * Grants to the waiters that a script did not reach, by a release that has nothing to release. `place`: where to
   * continue; negative if the script has looked at all tickets.
   */
  private async grantRemaining(key: string, place: number, id = `${this.clientId}:0`): Promise<void> {
    for (let from: number | undefined = place; from !== undefined && from >= 0;) {
      from = await this.run('release', key, [id, `0 0 ${from}`], (raw) => readReleaseReply(raw, false).more);
    }
  }

  /** Ends the named holds; `told`: how many of their clients received the message. */
  async endHolds(
    key: string,
    holds: readonly HoldName[],
    by: string,
    memory: number,
  ): Promise<{ ended: number; told: number }> {
    let ended = 0;
    let told = 0;
    let place = 0;
    // At least once: if the key has no holds, there may still be waiters.
    do {
      const named = holds.slice(place, (place += HOLDS_PER_COMMAND));
      const args = [memory, by, ...named.flatMap(({ id, since }) => [id, since])];
      const [count, heard, more] = await this.run('forceRelease', key, args, (raw) => {
        const parts = tuple(raw, 3);
        return [natural(parts[0]), natural(parts[1]), integer(parts[2], -1)] as const;
      });
      ended += count;
      told += heard;
      await this.grantRemaining(key, more);
    } while (place < holds.length);
    return { ended, told };
  }

  /** Reads a lock, in several commands if it has many holds or waiters. Stops with the holds once it has `maxHolds`. */
  async inspect(key: string, maxWaiters: number, maxHolds: number): Promise<StoredLock> {
    const read = (page: string, place: string, count: number) =>
      this.scripts.run('inspect', this.keys.of(key), [page, place, count], readInspectReply);
    let part = await read('0', '0', Math.min(maxWaiters, WAITERS_PER_COMMAND));
    // A hold or a waiter may be on two pages.
    const holds = new Map(part.holds.map((hold) => [hold.id, hold]));
    const waiters = new Map(part.waiters.map((waiter) => [waiter.id, waiter]));
    const { lastToken, limit } = part;
    let hasMore = false;
    for (let left = maxWaiters - WAITERS_PER_COMMAND; ; left -= WAITERS_PER_COMMAND - 1) {
      const place = left > 0 ? part.nextPlace : '';
      const page = holds.size < maxHolds ? part.nextPage : '';
      hasMore ||= page !== part.nextPage;
      if (page === '' && place === '') break;
      // The next page begins with the last waiter of this one.
      part = await read(page, place, Math.min(left + 1, WAITERS_PER_COMMAND));
      for (const hold of part.holds) holds.set(hold.id, hold);
      for (const waiter of part.waiters) waiters.set(waiter.id, waiter);
    }
    return {
      lastToken,
      limit,
      holds: [...holds.values()],
      waiters: [...waiters.values()],
      ...(hasMore && { hasMore }),
    };
  }

  /** As `LockStore.setLimit`. */
  async setLimit(key: string, permits: number): Promise<void> {
    const { version } = await this.readLimit(key);
    const more = await this.run('setLimit', key, [permits, version], (raw) => integer(raw, -1));
    await this.grantRemaining(key, more);
  }

  async addPermits({ key, id, change, permits }: AddPermitsRequest): Promise<number> {
    const { time } = await this.readLimit(key);
    const args = [id, change, permits, time + MEMORY * this.commandTimeout];
    const [now, more] = await this.run('addLimit', key, args, readCountAndPlace);
    if (now < 0) {
      const message = `the change of the permits of '${key}' reached Redis too late; it may have been made before`;
      throw new LockStoreError(message, { key, transient: true });
    }
    await this.grantRemaining(key, more);
    return now;
  }

  async keepUnits({ key, id, units, keep }: KeepUnitsRequest): Promise<number | 'not-held'> {
    const [left, more] = await this.run('keepUnits', key, [id, units, keep], readCountAndPlace);
    await this.grantRemaining(key, more);
    return left < 0 ? 'not-held' : left;
  }

  /** Which call has set the number of permits, and the server's clock. */
  private readLimit(key: string): Promise<{ readonly version: string; readonly time: number }> {
    return this.scripts.run('limit', this.keys.of(key), [], (raw) => {
      const [version, time] = tuple(raw, 2);
      return { version: matching(/^\d+$/, version)[0], time: natural(time) };
    });
  }

  private run<Reply>(
    script: ScriptWithAddress,
    key: string,
    args: ReadonlyArray<string | number>,
    read: (reply: unknown) => Reply,
  ): Promise<Reply> {
    return this.scripts.run(script, this.keys.of(key), [this.address(key), ...args], read);
  }

  private address(key: string): string {
    return address(this.connection.channels(key), key);
  }

  private requestArgs(request: AcquireRequest, place = 0): RequestArgs {
    const subscription = request.waits ? this.connection.subscription(request.key) : undefined;
    return requestArgs(
      request,
      place,
      subscription !== undefined && this.evidence.hasJustHeard(request.key, subscription),
    );
  }

  /** Records what is known when a request is sent, to check its reply: whether the client receives its messages. */
  private weighing({ key, id, lease, waits }: AcquireRequest): ((answer: AcquireAnswer) => void) | undefined {
    const subscription = waits ? this.connection.subscription(key) : undefined;
    if (subscription === undefined) return undefined;
    const sent = this.clock.now();
    return ({ sign, reply }) => {
      if (sign === undefined) return;
      const leaseLeft = reply.outcome === 'held' ? reply.lease : undefined;
      this.evidence.weigh(sign, { id, lease, sent, subscription }, leaseLeft);
    };
  }
}

/** Reads a number of permits, or -1, and the place from which to go on with the waiters. */
function readCountAndPlace(raw: unknown): readonly [count: number, more: number] {
  const [count, more] = tuple(raw, 2);
  return [integer(count, -1), integer(more, -1)];
}

/** The arguments of a request, in the order of lua/shared/request.lua. */
type RequestArgs = readonly [
  id: string,
  mode: string,
  owner: string,
  lease: number,
  uncontendedBatchSize: number,
  rest: string,
];

/** Written out, since a spread would take a kilobyte of memory for each request. */
const withAddress = (to: string, args: RequestArgs): [to: string, ...request: RequestArgs] => [
  to,
  args[0],
  args[1],
  args[2],
  args[3],
  args[4],
  args[5],
];

/** `isPresent`: the client is known to be subscribed. */
export function requestArgs(request: AcquireRequest, from = 0, isPresent = false): RequestArgs {
  const { id, mode, owner, lease, fair, waits, period, patience, grantTimeout, ahead, slots } = request;
  const age = request.age ?? (ahead === true && !fair ? 'ahead' : '');
  const batchSize = fair ? 0 : request.batchSize;
  const backedOff = request.backedOff === true ? ' backed-off' : '';
  const rest = `${from} ${waits ? (isPresent ? 2 : 1) : 0} ${period} ${patience} ${grantTimeout} ${batchSize} ${age}${backedOff}`;
  return [id, writeMode(mode, fair ? 1 : slots), owner ?? '', lease, fair ? 0 : request.uncontendedBatchSize, rest];
}
