import { isForeign, type ForeignKey } from '../service/inspect-several.js';
import { listLocks } from '../service/list-locks.js';
import type { LockInfo } from '../service/lock-info.js';
import type { Session } from './session.js';

/** The locks, and the keys that look like locks but are something else. */
export interface FoundLocks {
  readonly locks: LockInfo[];
  readonly skipped: ForeignKey[];
}

/** Finds all locks whose keys match the pattern, sorted by key. */
export async function findLocks({ locks: service }: Session, pattern?: string): Promise<FoundLocks> {
  const locks: LockInfo[] = [];
  const skipped: ForeignKey[] = [];
  for await (const found of listLocks(service, pattern)) {
    if (isForeign(found)) skipped.push(found);
    else locks.push(found);
  }
  return { locks: locks.sort(byKey), skipped: skipped.sort(byKey) };
}

const byKey = (a: { readonly key: string }, b: { readonly key: string }): number => (a.key < b.key ? -1 : 1);
