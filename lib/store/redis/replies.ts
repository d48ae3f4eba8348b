import { printable } from '../../common/describe.js';
import type {
  AcquireAllReply,
  AcquireReply,
  AcquireRequest,
  ContendedReply,
  HeldReply,
  HoldMode,
  LockStoreListener,
  PushedGrant,
  StoredLock,
  HoldSurvey,
} from '../lock-store.js';
import type { FenceReply } from '../quorum-member.js';
import { REPLY_CODES } from '../protocol.generated.js';
import type { ScriptArg } from './script-call.js';
import { flag, integer, list, listOf, matching, natural, oneOf, text, tuple } from './reply-readers.js';

const { QUEUED, HELD, BUSY, LEFT, UPGRADE, QUEUED_UNSUBSCRIBED, HELD_PUSHED, TOO_MANY } = REPLY_CODES;
/** The number of elements of each grant in the reply of `lua/acquire-all.lua`. */
const HELD_PARTS = 7;

/** The terms of a request that the reply does not repeat if the key was free. */
type AskedTerms = Pick<AcquireRequest, 'lease' | 'uncontendedBatchSize' | 'fair'>;

/**
 * What a reply shows about the client's subscription. `unheard`: the request is queued, but the server sees no
 * subscriber on the client's channel. `found`: the request holds the lock, and a message has announced that before.
 */
export type SubscriptionSign = 'unheard' | 'found';

/** The reply to `acquire`. */
export interface AcquireAnswer {
  readonly reply: AcquireReply;
  /** The rank in the queue from which another script has to continue; -1: the script has reached the end. */
  readonly more: number;
  /** What the server says about the client's subscription. */
  readonly sign?: SubscriptionSign | undefined;
}

/** A token of a free key is the time of the grant in microseconds. No other reply is as large: not a count, and not a flag. */
const LEAST_TIME = 1_000_000_000;

/** Reads the reply to a request for a lock. */
export function readAcquireReply(raw: unknown, request: AskedTerms): AcquireAnswer {
  return Array.isArray(raw) ? readAnswer(raw) : { reply: heldAsAsked(integer(raw, LEAST_TIME), request), more: -1 };
}

/** Reads a reply in the form of a list. */
export function readAnswer(raw: unknown): AcquireAnswer {
  const parts = list(raw, 3);
  const [code, time, more] = [integer(parts[0]), natural(parts[1]), integer(parts[2], -1)];
  if (code === HELD || code === HELD_PUSHED) {
    return { reply: heldReply(parts), more, sign: code === HELD_PUSHED ? 'found' : undefined };
  }
  if (code === QUEUED || code === QUEUED_UNSUBSCRIBED || code === BUSY) {
    const [askIn, lastToken, ...holders] = list(parts.slice(3), 2);
    const reply: ContendedReply = {
      outcome: code === BUSY ? 'busy' : 'queued',
      time,
      retryAfter: integer(askIn),
      lastToken: natural(lastToken),
      holders: holders.map(text),
    };
    return { reply, more, sign: code === QUEUED_UNSUBSCRIBED ? 'unheard' : undefined };
  }
  if (code === TOO_MANY) {
    const [, , , limit] = tuple(parts, 4);
    return { reply: { outcome: 'too many', time, limit: natural(limit) }, more };
  }
  tuple(parts, 3);
  return { reply: { outcome: oneOf(code, LEFT, UPGRADE) === UPGRADE ? 'upgrade' : 'left', time }, more };
}

/** Reads the reply of `lua/hand-over.lua`. `undefined`: send it again. */
export function readHandOverReply(raw: unknown): AcquireReply | undefined {
  const parts = list(raw);
  if (parts.length === 0) return undefined;
  oneOf(parts[0], HELD, LEFT, UPGRADE);
  const { reply, more } = readAnswer(raw);
  oneOf(more, -1);
  return reply;
}

/** Reads the reply of `lua/acquire-all.lua`: nothing, a key that is not free, or the grants in one flat list. */
export function readAcquireAllReply(raw: unknown, requests: readonly AcquireRequest[]): AcquireAllReply | undefined {
  const parts = list(raw);
  if (parts.length === 0) return undefined;
  if (oneOf(parts[0], HELD, BUSY) === BUSY) {
    const [, position, ...holders] = parts;
    const key = requests[integer(position, 1) - 1]?.key;
    return { outcome: 'busy', key: text(key), holders: holders.map(text) };
  }
  tuple(parts, HELD_PARTS * requests.length);
  return Array.from(requests, (_, i) => {
    const grant = parts.slice(HELD_PARTS * i, HELD_PARTS * (i + 1));
    oneOf(grant[0], HELD);
    return heldReply(grant);
  });
}

/** A hold of another kind than permits has no number of permits: it is 0, or left out. */
function heldReply(raw: readonly unknown[]): HeldReply {
  const [, time, , token, lease, batchSize, units = 0] = list(raw, HELD_PARTS - 1, HELD_PARTS);
  return {
    outcome: 'held',
    time: natural(time),
    token: integer(token, 1),
    lease: natural(lease),
    batchSize: integer(batchSize, 1),
    ...permitsOf(natural(units)),
  };
}

const permitsOf = (units: number): Pick<HeldReply, 'units'> => (units > 0 ? { units } : {});

/** The grant of a free key: of all its parts, `lua/acquire.lua` sends the token, which contains the time. */
const heldAsAsked = (token: number, { lease, uncontendedBatchSize, fair }: AskedTerms): HeldReply => ({
  outcome: 'held',
  time: Math.floor(token / 1_000),
  token,
  lease,
  batchSize: fair ? 1 : Math.max(1, uncontendedBatchSize),
});

/** For how many ms after a message its subscription needs no look. */
const RECENTLY = 500;

/**
 * What a request tells the server about its subscription, as `lua/shared/request.lua` reads it. 0: it would not receive
 * its grant, so it gets no place in the queue. 1: it would. 2: a message has just arrived, so the server need not look for
 * a subscriber.
 */
export const presence = (subscription: { readonly heardAt: number } | undefined, now: number): 0 | 1 | 2 =>
  subscription === undefined ? 0 : now - subscription.heardAt < RECENTLY ? 2 : 1;

/**
 * The arguments of a request, in the order of `lua/shared/request.lua`. `before`: what stands before them. `rank`: where
 * to begin in the queue. `heard`: the client's `presence`.
 */
export function requestArgs(
  before: ScriptArg,
  request: AcquireRequest,
  rank = 0,
  heard: number = request.waits ? 1 : 0,
): ScriptArg[] {
  const { id, mode, owner, lease, fair, period, patience, grantTimeout, ahead, slots } = request;
  const age = request.age ?? (ahead === true && !fair ? 'ahead' : '');
  const batchSize = fair ? 0 : request.batchSize;
  const backedOff = request.backedOff === true ? ' backed-off' : '';
  const rest = `${rank} ${heard} ${period} ${patience} ${grantTimeout} ${batchSize} ${age}${backedOff}`;
  const alone = fair ? 0 : request.uncontendedBatchSize;
  return [before, id, writeMode(mode, fair ? 1 : slots), owner ?? '', lease, alone, rest];
}

/** Writes a mode as `lua/shared/modes.lua` reads it. `slots`: as in `AcquireRequest`. */
export const writeMode = (mode: HoldMode, slots = 1): string =>
  mode.kind === 'permits' ? `permits:${mode.units}/${mode.limit}${slots > 1 ? `*${slots}` : ''}` : mode.kind;

/** Reads a mode. */
export function readMode(raw: unknown): HoldMode {
  const [, kind, units, limit] = matching(MODE, raw) as unknown as [string, HoldMode['kind'], string, string];
  return kind === 'permits' ? { kind, units: Number(units), limit: Number(limit) } : { kind };
}

/** The number of slots in the mode of a ticket is left out. */
const MODE = /^(exclusive|read|permits)(?::(\d+)\/(\d+)(?:\*\d+)?)?$/;

/** Reads the reply to `release` without a request: whether the lock was held, and the rank to continue from, as in `AcquireAnswer`. */
export function readReleaseReply(raw: unknown): readonly [released: boolean, more: number] {
  if (!Array.isArray(raw)) return [flag(oneOf(raw, 1)), -1];
  const [released, more] = tuple(raw, 2);
  return [flag(released), integer(more, -1)];
}

/** Reads the reply to `release` with the request of the next waiter: whether the lock was held, and the reply to the request. */
export function readNextReply(raw: unknown): readonly [released: boolean, answer: AcquireAnswer] {
  const [released, ...answer] = list(raw, 1);
  return [flag(released), readAnswer(answer)];
}

/** Reads the reply of `lua/fence.lua`. */
export function readFenceReply(raw: unknown): FenceReply {
  const code = oneOf(list(raw, 1)[0], 1, 0, -1);
  const [, lease, lastToken] = tuple(raw, { '1': 2, '0': 3, '-1': 1 }[code]);
  if (code === -1) return { outcome: 'not-held' };
  if (code === 1) return { outcome: 'written', lease: natural(lease) };
  return { outcome: 'refused', lease: natural(lease), lastToken: natural(lastToken) };
}

/** Reads the reply of `lua/survey.lua`. */
export function readSurveyReply(raw: unknown): HoldSurvey | undefined {
  if (list(raw).length === 0) return undefined;
  const [ttl, owned, units, others, most] = tuple(raw, 5);
  return {
    ttl: integer(ttl, -2),
    isOwned: flag(owned),
    units: natural(units),
    hasOthers: flag(others),
    limit: limitOf(most),
  };
}

/** The number of permits that was set at run time; -1: none was. */
function limitOf(raw: unknown): number | undefined {
  const limit = integer(raw, -1);
  return limit < 0 ? undefined : limit;
}

/** Reads the ms that are left of a lease; -1: not held. */
export function leaseLeft(raw: unknown): number | 'not-held' {
  const left = integer(raw, -1);
  return left < 0 ? 'not-held' : left;
}

/** The name in a forced release is cut to this many characters. */
const LONGEST_BY = 200;

/** Writes the name of the caller of a forced release as one word of a message. */
export const writeBy = (by = ''): string => Buffer.from(by).toString('base64url') || '-';

/** Any program may publish a message: the text goes into errors and logs, so it is cut, and control characters are escaped. */
export const readBy = (word: string): string | undefined =>
  printable(Buffer.from(word, 'base64url').toString().slice(0, LONGEST_BY)) || undefined;

/** Receives the messages on a client's channel. */
type MessageReceiver = Pick<LockStoreListener, 'retryAfter' | 'yield' | 'revoked' | 'opened'>;

/** The messages besides grants, as `lua/shared/messages.lua` writes them. */
const MESSAGES: ReadonlyArray<readonly [RegExp, (to: MessageReceiver, ...parts: string[]) => void]> = [
  [/^retry (\S+) (\d+) /, (to, id, delay) => to.retryAfter(id, Number(delay))],
  [/^yield (\S+) /, (to, id) => to.yield(id)],
  [
    /^revoked (\S+) (\d+) (\S+) (\S+) /,
    (to, id, token, by, next) => to.revoked(id, Number(token), readBy(by), next === '-' ? undefined : next),
  ],
  [/^opened (\S+) (.+)$/s, (to, latch, key) => to.opened(key, latch)],
];
const GRANTED = /^granted (\S+) (\d+) (\d+) (\d+) (\d+) (\d+) (\S+) (.+)$/s;

/** Passes on what `lua/shared/messages.lua` writes. A message that this version does not know is ignored. */
export function passMessage(
  message: string,
  to: MessageReceiver,
  granted: (grant: PushedGrant, node: string) => void,
): void {
  const [, id, ...rest] = GRANTED.exec(message) ?? [];
  if (id !== undefined) {
    const [token, lease, time, batchSize, units] = rest.map(Number) as [number, number, number, number, number];
    const [node, key] = rest.slice(5) as [string, string];
    return granted({ key, id, token, lease, time, batchSize, ...permitsOf(units) }, node);
  }
  for (const [pattern, pass] of MESSAGES) {
    const [, ...parts] = pattern.exec(message) ?? [];
    if (parts.length > 0) return pass(to, ...parts);
  }
}

/** Reads the reply of `lua/inspect.lua`. `nextPage`, `nextPlace`: where to go on with holds and waiters; '': all were read. */
export function readInspectReply(raw: unknown): StoredLock & { readonly nextPage: string; readonly nextPlace: string } {
  const [lastToken, holds, waiters, limit, nextPage, nextPlace] = tuple(raw, 6);
  return {
    nextPage: text(nextPage),
    nextPlace: text(nextPlace),
    lastToken: natural(lastToken),
    limit: limitOf(limit),
    holds: listOf(holds, (hold) => {
      const [id, owner, mode, token, ttl, since, kept] = tuple(hold, 7);
      const times = { ttl: natural(ttl), since: natural(since) };
      return {
        id: text(id),
        owner: text(owner),
        mode: readMode(mode),
        kept: flag(kept),
        token: natural(token),
        ...times,
      };
    }),
    waiters: listOf(waiters, (waiter) => {
      const [id, owner, mode, since] = tuple(waiter, 4);
      return { id: text(id), owner: text(owner), mode: readMode(mode), since: natural(since) };
    }),
  };
}

/** Reads a number of permits, or -1, and the rank from which to continue with the waiters. */
export function readCountAndPlace(raw: unknown): readonly [count: number, more: number] {
  const [count, more] = tuple(raw, 2);
  return [integer(count, -1), integer(more, -1)];
}

/** Reads the reply of `lua/force-release.lua`: how many holds were ended, and how many clients received the message. */
export function readForceReleaseReply(raw: unknown): readonly [ended: number, told: number, more: number] {
  const [ended, told, more] = tuple(raw, 3);
  return [natural(ended), natural(told), integer(more, -1)];
}
