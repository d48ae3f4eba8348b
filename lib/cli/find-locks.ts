import { inspectSeveral, isForeign, type ForeignKey } from '../service/inspect-several.js';
import type { LockInfo } from '../service/lock-info.js';
import type { ListReply } from '../store/key-list.js';
import type { Session } from './session.js';

/** About how many names the server looks at for one part of the list. */
const AT_A_TIME = 5_000;
/** How many locks are inspected at once. */
const TOGETHER = 50;

/** The locks, and the keys that look like locks but are something else. */
export interface FoundLocks {
  readonly locks: LockInfo[];
  readonly skipped: ForeignKey[];
}

/** Finds all locks whose keys match the pattern, sorted by key. */
export async function findLocks({ locks }: Session, pattern = '*'): Promise<FoundLocks> {
  const matches = matcher(pattern);
  const found = new Set<string>();
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const part: ListReply = await locks.list({ cursor, budget: AT_A_TIME });
    for (const key of part.keys) if (matches(key)) found.add(key);
    cursor = part.cursor;
  }
  const keys = [...found].sort();
  const infos: Array<LockInfo | ForeignKey | null> = [];
  for (let i = 0; i < keys.length; i += TOGETHER) {
    infos.push(...(await inspectSeveral(locks, keys.slice(i, i + TOGETHER))));
  }
  // Some may have been released in the meantime.
  return {
    locks: infos.filter((info): info is LockInfo => info !== null && !isForeign(info)),
    skipped: infos.filter(isForeign),
  };
}

/** `*` stands for any text. All other characters stand for themselves. */
function matcher(pattern: string): (key: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const expression = new RegExp(`^${parts.join('.*')}$`, 'su');
  return (key) => expression.test(key);
}
