import type { ListReply, ListRequest } from '../engine/lock-engine.js';
import { quote } from '../common/describe.js';
import { isLockStoreError } from '../errors/index.js';
import type { LockState } from './lock-state.js';

export type { ListReply };

/** About how many names the store looks at for one part of the list. */
const NAMES_PER_PART = 5_000;
/** How many locks are inspected at once. */
const TOGETHER = 50;

/** Options of `LockService.list`. */
export interface LockListOptions {
  /**
   * A pattern of the keys to list: `*` matches any text, and every other character matches itself.
   * @defaultValue '*'
   */
  match?: string;
}

/** What the list needs of a service. */
export interface ListableLocks {
  listKeys(request: ListRequest): Promise<ListReply>;
  inspect(key: string): Promise<LockState | null>;
}

/**
 * Lists the locks of all clients, each key once, in no order. A key that is acquired or released meanwhile may be
 * missing.
 * @throws LockStoreError, LockConfigError
 */
export async function* listLocks(locks: ListableLocks, match = '*'): AsyncGenerator<LockState | ForeignKey> {
  const matches = matcher(match);
  const seen = new Set<string>();
  for await (const part of keyParts(locks, NAMES_PER_PART)) {
    const fresh = part.keys.filter((key) => !seen.has(key) && matches(key));
    for (const key of fresh) seen.add(key);
    // The same key may come twice in one part, too.
    for await (const [, found] of inspectAll(locks, new Set(fresh))) if (found !== null) yield found;
  }
}

/** Like `listLocks`, without the keys that look like locks and are something else. */
export async function* heldLocks(locks: ListableLocks, match?: string): AsyncGenerator<LockState> {
  for await (const found of listLocks(locks, match)) if (!isForeign(found)) yield found;
}

/** Lists the keys that are held, one part for each step. `budget`: about how many names the store looks at for a part. */
export async function* keyParts(locks: ListableLocks, budget: number): AsyncGenerator<ListReply> {
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const part: ListReply = await locks.listKeys({ cursor, budget });
    yield part;
    cursor = part.cursor;
  }
}

/** Inspects keys, some at a time. `null`: the key is free. */
export async function* inspectAll(
  locks: ListableLocks,
  keys: Iterable<string>,
): AsyncGenerator<readonly [key: string, found: LockState | ForeignKey | null]> {
  const all = [...keys];
  for (let i = 0; i < all.length; i += TOGETHER) {
    const some = all.slice(i, i + TOGETHER);
    const found = await Promise.all(some.map((key) => inspectOne(locks, key)));
    yield* some.map((key, j) => [key, found[j]!] as const);
  }
}

/**
 * `*` stands for any text. All other characters stand for themselves. Each text between two `*` is looked for once: a regular
 * expression with many `.*` may try all ways to divide a key.
 */
function matcher(pattern: string): (key: string) => boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return (key) => key === first;
  return (key) => {
    const end = key.length - last.length;
    if (end < first.length || !key.startsWith(first) || !key.endsWith(last)) return false;
    let at = first.length;
    for (const part of others) {
      const found = key.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return at <= end;
  };
}

/** A key whose name is that of a lock and whose value is not. */
export interface ForeignKey {
  readonly key: string;
  readonly reason: string;
}

/** The errors of scripts for a value of another type or content, as opposed to failures of a server. */
const NOT_OURS =
  /\bWRONGTYPE\b|data of layout|attempt to |bad argument|Lua redis lib command arguments|was answered with/;

/**
 * Inspects one key. A foreign value is reported as such, so that it does not hide the rest of a list.
 * @throws LockStoreError if Redis fails
 */
export async function inspectOne(
  locks: Pick<ListableLocks, 'inspect'>,
  key: string,
): Promise<LockState | ForeignKey | null> {
  try {
    const info = await locks.inspect(key);
    if (info === null || isWhole(info)) return info;
  } catch (error) {
    if (isLockStoreError(error)) {
      if (error.transient || !NOT_OURS.test(error.message)) throw error;
      return { key, reason: error.message };
    }
  }
  return { key, reason: 'its fields are not those of a lock' };
}

export const isForeign = (found: LockState | ForeignKey | null): found is ForeignKey =>
  found !== null && 'reason' in found;

/** The line for a list of locks. */
export const describeForeign = ({ key, reason }: ForeignKey): string => `${quote(key)} is skipped: ${reason}`;

const isWhole = ({ holders, fencingToken }: LockState): boolean =>
  [fencingToken, ...holders.flatMap(({ fencingToken, ttl, since }) => [fencingToken, ttl, since.getTime()])].every(
    Number.isFinite,
  );
