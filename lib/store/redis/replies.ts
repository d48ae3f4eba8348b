import type {
  AcquireAllReply,
  AcquireReply,
  AcquireRequest,
  HeldReply,
  LockMode,
  PushedGrant,
  ReleaseReply,
  StoredLock,
} from '../lock-store.js';
import type { HoldSurvey } from '../hold-survey.js';
import { REPLY_CODES } from '../protocol.generated.js';
import type { SubscriptionSign } from './subscription-evidence.js';

const { QUEUED, HELD, BUSY, UPGRADE, QUEUED_UNSUBSCRIBED, HELD_PUSHED, TOO_MANY } = REPLY_CODES;
/** The number of elements of each grant in the reply of `lua/acquire-all.lua`. */
const HELD_PARTS = 6;

/**
 * A script's reply, and the place in the queue from which the script has to be run again if it did not reach the end.
 */
export interface Partial<Reply> {
  readonly reply: Reply;
  readonly more: number | undefined;
}

const placeToGoOn = (place: unknown): number | undefined => (Number(place) >= 0 ? Number(place) : undefined);

/** The terms of a request that the reply does not repeat if the key was free. */
type AskedTerms = Pick<AcquireRequest, 'lease' | 'uncontendedBatchSize' | 'fair'>;

/** The reply to `acquire`, and what the server says about the client's subscription. */
export interface AcquireAnswer extends Partial<AcquireReply> {
  readonly sign?: SubscriptionSign;
}

/** Reads the reply to a request for a lock. */
export function readAcquireReply(raw: unknown, request: AskedTerms): AcquireAnswer {
  return Array.isArray(raw) ? readAnswer(raw) : { reply: heldAsAsked(Number(raw), request), more: undefined };
}

/** Reads a reply in the form of a list. */
export function readAnswer(raw: readonly unknown[]): AcquireAnswer {
  const code = Number(raw[0]);
  const time = Number(raw[1]);
  if (code === HELD || code === HELD_PUSHED) {
    return { reply: heldReply(raw), more: undefined, sign: code === HELD_PUSHED ? 'found' : undefined };
  }
  if (code === QUEUED || code === QUEUED_UNSUBSCRIBED || code === BUSY) {
    const [, , askIn, lastToken, more, ...holders] = raw;
    const outcome = code === BUSY ? 'busy' : 'queued';
    return {
      reply: { outcome, time, retryAfter: Number(askIn), lastToken: Number(lastToken), holders: holders as string[] },
      more: placeToGoOn(more),
      sign: code === QUEUED_UNSUBSCRIBED ? 'unheard' : undefined,
    };
  }
  if (code === TOO_MANY) return { reply: { outcome: 'too many', time, limit: Number(raw[2]) }, more: undefined };
  return { reply: { outcome: code === UPGRADE ? 'upgrade' : 'left', time }, more: undefined };
}

/** Reads the reply of `lua/acquire-all.lua`: nothing, or the grants in one flat list. */
export function readAcquireAllReply(
  raw: readonly unknown[],
  requests: readonly AcquireRequest[],
): AcquireAllReply | undefined {
  if (raw.length === 0) return undefined;
  const [code, position, ...holders] = raw;
  if (Number(code) === BUSY) {
    return { outcome: 'busy', key: requests[Number(position) - 1]!.key, holders: holders as string[] };
  }
  return Array.from({ length: raw.length / HELD_PARTS }, (_, i) => heldReply(raw.slice(HELD_PARTS * i)));
}

const heldReply = ([, time, token, lease, batchSize, units]: readonly unknown[]): HeldReply => ({
  outcome: 'held',
  time: Number(time),
  token: Number(token),
  lease: Number(lease),
  batchSize: Number(batchSize),
  ...permitsOf(units),
});

/** A hold of another kind has no permits: the number is 0, or left out. */
const permitsOf = (units: unknown): Pick<HeldReply, 'units'> => (Number(units) > 0 ? { units: Number(units) } : {});

/** The grant of a free key: of all its parts, `lua/acquire.lua` sends the token, which contains the time. */
const heldAsAsked = (token: number, { lease, uncontendedBatchSize, fair }: AskedTerms): HeldReply => ({
  outcome: 'held',
  time: Math.floor(token / 1_000),
  token,
  lease,
  batchSize: fair ? 1 : Math.max(1, uncontendedBatchSize),
});

/** Where messages about a key go, as `lua/shared/messages.lua` reads it. A key contains no line break. */
export const address = (channels: string, key: string): string => `${channels}\n${key}`;

/** Writes a mode as `lua/shared/modes.lua` reads it. `slots`: as in `AcquireRequest`. */
export const writeMode = (mode: LockMode, slots = 1): string =>
  mode.kind === 'permits' ? `permits:${mode.units}/${mode.limit}${slots > 1 ? `*${slots}` : ''}` : mode.kind;

/** Reads a mode, and whether the hold is released already and its key kept (`holdAtLeast`). */
export function readMode(text: string): { readonly mode: LockMode; readonly kept: boolean } {
  const [, kept, kind, units, limit] = MODE.exec(text) as unknown as [
    string,
    string | undefined,
    LockMode['kind'],
    string,
    string,
  ];
  const mode = kind === 'permits' ? { kind, units: Number(units), limit: Number(limit) } : { kind };
  return { mode, kept: kept !== undefined };
}

/** The number of slots in the mode of a ticket is left out. */
const MODE = /^(kept:)?(exclusive|read|permits)(?::(\d+)\/(\d+)(?:\*\d+)?)?$/;

const RELEASED = { reply: { released: true, next: undefined }, more: undefined, asked: undefined };

/** `asked`: the reply to the next request in the same step. That request may have to be continued. */
export function readReleaseReply(raw: unknown): Partial<ReleaseReply> & {
  readonly asked: AcquireAnswer | undefined;
} {
  if (!Array.isArray(raw)) return RELEASED;
  const [released, more, ...next] = raw as readonly unknown[];
  const asked = next.length > 0 ? readAnswer(next) : undefined;
  return { reply: { released: Number(released) === 1, next: asked?.reply }, more: placeToGoOn(more), asked };
}

/** Reads the reply of `lua/survey.lua`. */
export function readSurveyReply(reply: unknown): HoldSurvey | undefined {
  const [ttl, owned, units, others, limit] = (reply as unknown[]).map(Number);
  if (ttl === undefined) return undefined;
  return { ttl, isOwned: owned === 1, units: units!, hasOthers: others === 1, limit: limit! < 0 ? undefined : limit };
}

/** A message on a client's channel. `undefined`: this version does not know the message. */
export type ClientMessage =
  | { readonly word: 'granted'; readonly grant: PushedGrant }
  | { readonly word: 'retry'; readonly id: string; readonly delay: number }
  | { readonly word: 'yield'; readonly id: string }
  | { readonly word: 'revoked'; readonly id: string; readonly token: number }
  | { readonly word: 'opened'; readonly latch: string; readonly key: string };

const GRANTED = /^granted (\S+) (\d+) (\d+) (\d+) (\d+) (\d+) (.+)$/s;
const RETRY = /^retry (\S+) (\d+) /;
const YIELD = /^yield (\S+) /;
const REVOKED = /^revoked (\S+) (\d+) /;
const OPENED = /^opened (\S+) (.+)$/s;

/** Reads what `lua/shared/messages.lua` writes. */
export function readMessage(message: string): ClientMessage | undefined {
  let found: RegExpExecArray | null;
  if ((found = GRANTED.exec(message)) !== null) {
    const [, id, ...rest] = found as unknown as [string, string, ...string[]];
    const [token, lease, time, batchSize, units] = rest.map(Number) as [number, number, number, number, number];
    return { word: 'granted', grant: { key: rest[5]!, id, token, lease, time, batchSize, ...permitsOf(units) } };
  }
  if ((found = RETRY.exec(message)) !== null) return { word: 'retry', id: found[1] as string, delay: Number(found[2]) };
  if ((found = YIELD.exec(message)) !== null) return { word: 'yield', id: found[1] as string };
  if ((found = REVOKED.exec(message)) !== null)
    return { word: 'revoked', id: found[1] as string, token: Number(found[2]) };
  if ((found = OPENED.exec(message)) !== null) {
    return { word: 'opened', latch: found[1] as string, key: found[2] as string };
  }
  return undefined;
}

/** Reads the reply of `lua/inspect.lua`. `nextPage`, `nextPlace`: where to go on with holds and waiters; '': all were read. */
export function readInspectReply(
  reply: unknown,
): StoredLock & { readonly nextPage: string; readonly nextPlace: string } {
  const [lastToken, holds, waiters, limit, nextPage, nextPlace] = reply as [
    ...[number, string[][], string[][], number],
    ...[string, string],
  ];
  return {
    nextPage,
    nextPlace,
    lastToken: Number(lastToken),
    limit: Number(limit) < 0 ? undefined : Number(limit),
    holds: holds.map(([id, owner, mode, token, ttl, since]) => ({
      id: id as string,
      owner: owner as string,
      ...readMode(mode as string),
      token: Number(token),
      ttl: Number(ttl),
      since: Number(since),
    })),
    waiters: waiters.map(([id, owner, mode, since]) => ({
      id: id as string,
      owner: owner as string,
      mode: readMode(mode as string).mode,
      since: Number(since),
    })),
  };
}
