import type { HoldMode, StoredHold, StoredWaiter } from '../../../lib/store/lock-store.js';
import type { StoredKey } from './key-space.js';

/** The keys of a lock that tell its holders and its waiters. */
export const READ_ROLES = ['state', 'queue', 'waiters', 'fence', 'limit', 'tombstones'] as const;

/** From this score on, a place in the queue is that of a parked ticket (lua/shared/queue.lua). */
const PARKED = 2 ** 52;
const HOLD = /^(\S+) (pushed|held|alone|kept) (\d+) (\d+) (\d+) (.+)$/s;
const TICKET = /^(\d+) (\S+) \d+ (\d+) \d+ \d+ (\d+) (.+)$/s;
const MODE = /^(exclusive|read|permits)(?::(\d+)\/(\d+)(?:\*\d+)?)?$/;

export interface Hold extends Omit<StoredHold, 'ttl'> {
  /** By the server's clock, in ms. */
  readonly ends: number;
  /** Granted by a message, and its client has not sent a command about it since. */
  readonly pushed: boolean;
}

export interface Ticket extends StoredWaiter {
  /** The place that it has, or returns to. */
  readonly place: number;
  readonly isParked: boolean;
  readonly isFair: boolean;
  /** When it becomes stale unless its client asks again, by the server's clock. */
  readonly staleAt: number;
  readonly isStale: boolean;
}

/** A lock at one moment, with all that its scripts go by. */
export interface LockImage {
  readonly holds: readonly Hold[];
  /** Whose leases are over, and which no script has removed. */
  readonly expired: readonly Hold[];
  /** In the order of the queue, with stale ones. */
  readonly tickets: readonly Ticket[];
  /** The ids of acquisitions, clients and calls that have a tombstone. */
  readonly tombstones: readonly string[];
  readonly lastToken: number;
  readonly limit: number | undefined;
}

type WrittenTicket = Omit<Ticket, 'isStale'>;

/** A lock as the keys have it: a reader of its own, independent of the library's replies. */
export class LockReader {
  private readonly holds: readonly Hold[];
  private readonly tickets: readonly WrittenTicket[];
  private readonly tombstones: ReadonlyArray<[id: string, ends: string]>;
  private readonly lastToken: number;
  private readonly limit: number | undefined;
  private readonly ends: readonly number[];

  /** `keys`: those of `READ_ROLES`. */
  constructor([state, queue, waiters, fence, limit, tombstones]: readonly StoredKey[]) {
    this.ends = [state, queue, waiters, fence, limit].map((key) => key!.ends);
    this.holds = pairsOf(state!)
      .filter(([field]) => !field.startsWith('#'))
      .map(([field, text]) => readHold(field.replace(/^\+/, ''), text));
    const texts = new Map(pairsOf(waiters!));
    this.tickets = pairsOf(queue!).map(([id, place]) => readTicket(id, Number(place), texts.get(id)));
    this.lastToken = Number(textOf(fence!) ?? 0);
    const permits = textOf(limit!)?.split(' ')[0];
    this.limit = permits === undefined ? undefined : Number(permits);
    this.tombstones = pairsOf(tombstones!);
  }

  /** `now`: by the server's clock, in ms. */
  at(now: number): LockImage {
    const [state, queue, , fence, limit] = this.ends.map((ends) => ends >= now);
    const holds = state ? this.holds : [];
    return {
      holds: holds.filter(({ ends }) => ends > now),
      expired: holds.filter(({ ends }) => ends <= now),
      tickets: queue ? this.tickets.map((ticket) => ({ ...ticket, isStale: ticket.staleAt <= now })) : [],
      tombstones: this.tombstones.filter(([, ends]) => Number(ends) > now).map(([id]) => id),
      lastToken: fence ? this.lastToken : 0,
      limit: limit ? this.limit : undefined,
    };
  }
}

function pairsOf({ value }: StoredKey): Array<[string, string]> {
  if (typeof value === 'string') throw new Error(`'${value}' is a text, not a hash or a sorted set`);
  return Array.from({ length: value.length / 2 }, (_, i) => [value[2 * i]!, value[2 * i + 1]!]);
}

const textOf = ({ value }: StoredKey): string | undefined => (typeof value === 'string' ? value : undefined);

function readHold(id: string, text: string): Hold {
  const [, mode, status, ends, token, since, owner] = found(HOLD, text);
  return {
    ...{ id, owner: owner!, pushed: status === 'pushed', mode: readMode(mode!), kept: status === 'kept' },
    ...{ ends: Number(ends), token: Number(token), since: Number(since) },
  };
}

function readTicket(id: string, score: number, text: string | undefined): WrittenTicket {
  if (text === undefined) throw new Error(`the ticket ${id} has a place and no text`);
  const [, since, mode, staleAt, batchSize, owner] = found(TICKET, text);
  const isParked = score >= PARKED;
  return {
    ...{ id, owner: owner!, mode: readMode(mode!), since: Number(since), staleAt: Number(staleAt) },
    ...{ place: isParked ? score - PARKED : score, isParked, isFair: batchSize === '0' },
  };
}

function readMode(text: string): HoldMode {
  const [, kind, units, limit] = found(MODE, text);
  return kind === 'permits'
    ? { kind, units: Number(units), limit: Number(limit) }
    : { kind: kind as 'exclusive' | 'read' };
}

function found(pattern: RegExp, text: string): RegExpExecArray {
  const match = pattern.exec(text);
  if (match === null) throw new Error(`'${text}' does not look like ${String(pattern)}`);
  return match;
}
