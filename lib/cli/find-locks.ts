import { isForeign, type ForeignKey } from '../service/inspect-several.js';
import { listLocks } from '../service/list-locks.js';
import type { LockState } from '../service/lock-state.js';
import type { CommandLine } from './arguments.js';
import type { Session } from './session.js';
import { concerns, inOrder, sortLocks } from './sort-locks.js';

/** The locks, and the keys that look like locks but are something else. */
export interface FoundLocks {
  readonly locks: LockState[];
  readonly skipped: ForeignKey[];
}

/** Finds all locks that the command line asks for, in its order. */
export async function findLocks(
  { locks: service }: Session,
  { subject, holder, sort }: Pick<CommandLine, 'subject' | 'holder' | 'sort'>,
): Promise<FoundLocks> {
  const locks: LockState[] = [];
  const skipped: ForeignKey[] = [];
  for await (const found of listLocks(service, subject)) {
    if (isForeign(found)) skipped.push(found);
    else if (holder === undefined || concerns(found, holder)) locks.push(found);
  }
  return { locks: sortLocks(locks, sort), skipped: inOrder(skipped) };
}

/** All locks, whatever the command line asks for. */
export const ALL = { subject: undefined, holder: undefined, sort: 'key' } as const;
