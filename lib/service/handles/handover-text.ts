import { createHash, randomBytes } from 'node:crypto';
import { LockConfigError } from '../../errors/index.js';
import { describe } from '../../common/describe.js';
import type { HoldMode } from '../../engine/hold.js';
import { assertKey } from '../../keys/index.js';

/** What the text of a handover says. */
export interface Handover {
  readonly key: string;
  /** A secret: any process that knows it can adopt the lock. Only its digest is sent to the store. */
  readonly nonce: string;
  readonly mode: HoldMode;
  /** ms since 1970, by the clock of the process that has handed the lock over. */
  readonly deadline: number;
}

/** Stands before the text, so that another text is recognized. */
const MARK = 'lock-handover.1.';
const NONCE = /^[\w-]{22}$/;

/** Makes a nonce of 16 random bytes. */
export const newNonce = (): string => randomBytes(16).toString('base64url');

/** The id of the offer with this nonce. It is no secret: the nonce cannot be found from it. */
export const offerId = (nonce: string): string =>
  `handover:${createHash('sha256').update(nonce).digest('hex').slice(0, 32)}`;

export function writeHandover({ key, nonce, mode, deadline }: Handover): string {
  return MARK + Buffer.from(JSON.stringify([key, nonce, deadline, mode])).toString('base64url');
}

/**
 * Reads the text of a handover. Messages never contain it.
 * @throws LockConfigError for another text
 */
export function readHandover(text: unknown): Handover {
  const handover = typeof text === 'string' && text.startsWith(MARK) ? parsed(text.slice(MARK.length)) : undefined;
  if (handover !== undefined) return handover;
  throw new LockConfigError(
    `adopt takes the text that handOver() of a lock has returned, unchanged; this is ${describe(text)}.`,
  );
}

function parsed(encoded: string): Handover | undefined {
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(encoded, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(content) || content.length !== 4) return undefined;
  const [key, nonce, deadline, mode] = content as [unknown, unknown, unknown, unknown];
  const isRight = typeof nonce === 'string' && NONCE.test(nonce) && Number.isSafeInteger(deadline) && isMode(mode);
  return isRight ? { key: assertKey(key), nonce, deadline: deadline as number, mode } : undefined;
}

function isMode(mode: unknown): mode is HoldMode {
  if (typeof mode !== 'object' || mode === null) return false;
  const { kind, units, limit } = mode as Record<string, unknown>;
  if (kind === 'permits') return Number.isSafeInteger(units) && Number.isSafeInteger(limit);
  return kind === 'exclusive' || kind === 'read';
}
