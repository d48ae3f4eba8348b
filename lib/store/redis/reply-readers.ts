import { LockStoreError } from '../../errors/index.js';

/** Thrown while a reply is read. `readReply` makes the error for the caller of it. */
class WrongReply extends Error {}

function wrong(): never {
  throw new WrongReply();
}

/** An integer in a reply that has it as text, as `TIME` does. */
const INTEGER = /^(?:0|-?[1-9]\d{0,15})$/;

/** Reads an integer of at least `least`. */
export function integer(raw: unknown, least = -Infinity): number {
  const number = typeof raw === 'string' && INTEGER.test(raw) ? Number(raw) : raw;
  return Number.isSafeInteger(number) && (number as number) >= least ? (number as number) : wrong();
}

/** Reads an integer that counts something, or measures time. */
export const natural = (raw: unknown): number => integer(raw, 0);

/** Reads an integer that is one of `codes`. */
export function oneOf<Code extends number>(raw: unknown, ...codes: readonly Code[]): Code {
  const number = integer(raw);
  return codes.find((code) => code === number) ?? wrong();
}

/** Reads 1 as `true` and 0 as `false`. */
export const flag = (raw: unknown): boolean => oneOf(raw, 0, 1) === 1;

export const text = (raw: unknown): string => (typeof raw === 'string' ? raw : wrong());

/** Reads a text, or nothing. */
export const optionalText = (raw: unknown): string | null => (raw === null ? null : text(raw));

/** Reads a text that a pattern describes. */
export const matching = (pattern: RegExp, raw: unknown): RegExpExecArray => pattern.exec(text(raw)) ?? wrong();

/** Reads a list of `least` to `most` elements. */
export const list = (raw: unknown, least = 0, most = Infinity): readonly unknown[] =>
  Array.isArray(raw) && raw.length >= least && raw.length <= most ? raw : wrong();

/** Reads a list of `length` elements. */
export const tuple = (raw: unknown, length: number): readonly unknown[] => list(raw, length, length);

/** Reads a list of elements of one kind. */
export const listOf = <T>(raw: unknown, read: (element: unknown) => T): T[] => list(raw).map((each) => read(each));

/** The replies to other commands than scripts that are safe to show. */
const SHOWN: ReadonlySet<unknown> = new Set(['OK', 'QUEUED', 'PONG', '']);
/** How many elements of a list are described. */
const DESCRIBED = 4;

/** Describes a reply without its content, which may be a secret. */
function shapeOf(reply: unknown, isPart = false): string {
  if (Array.isArray(reply)) {
    const parts = reply.slice(0, DESCRIBED).map((each) => shapeOf(each, true));
    return `a list of ${reply.length}${isPart || parts.length === 0 ? '' : ` (${parts.join(', ')}${reply.length > DESCRIBED ? ', …' : ''})`}`;
  }
  if (typeof reply === 'string') return SHOWN.has(reply) ? JSON.stringify(reply) : 'a text';
  if (reply === null || ['undefined', 'boolean', 'number'].includes(typeof reply)) return String(reply);
  return `a value of type ${typeof reply}`;
}

/**
 * Reads a reply. A reply that Redis cannot give to the command says nothing about the lock, so it is an error.
 * @param command the command, as the error names it
 * @throws LockStoreError
 */
export function readReply<Reply, Result>(
  command: string,
  reply: Reply,
  read: (reply: Reply) => Result,
  key?: string,
): Result {
  try {
    return read(reply);
  } catch (error) {
    if (!(error instanceof WrongReply)) throw error;
    throw new LockStoreError(
      `${command} was answered with ${shapeOf(reply)}, which Redis cannot reply to it, so its effect is not known. ` +
        'Likely causes are an open MULTI on this connection, a proxy that changes replies, or a stub in a test. ' +
        "Give the locks a connection of their own to a real Redis; in unit tests write store: 'memory'.",
      { key },
    );
  }
}
