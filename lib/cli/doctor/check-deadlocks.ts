import { isForeign, listLocks } from '../../service/list-locks.js';
import type { LockHolder, LockState, LockWaiter } from '../../service/lock-state.js';
import { isRefusal } from '../deployment/deployment.js';
import { labelName, safe, time } from '../output/texts.js';
import { serverTime, type Session } from '../session.js';
import { ok, warning, type Finding } from './finding.js';

/** So many locks are looked at, at most. */
const MOST_LOCKS = 5_000;
/** A wait of fewer ms may end by itself. */
const SHORT_WAIT = 1_000;

/** Looks for two processes that wait for each other. None if the user may not list the locks. */
export async function checkDeadlocks(session: Session): Promise<Finding[]> {
  const locks: LockState[] = [];
  try {
    for await (const found of listLocks(session.locks)) {
      if (!isForeign(found)) locks.push(found);
      if (locks.length >= MOST_LOCKS) break;
    }
  } catch (error) {
    const { cause = error } = error as Error;
    // The permissions, or the findings about the servers, report it already.
    if (isRefusal(error) || isRefusal(cause) || (error as { code?: string }).code === 'LOCK_STORE') return [];
    throw error;
  }
  return [describeCycles(locks, await serverTime(session))];
}

/** A client waits for a lock that another client has held since before. */
interface Edge {
  readonly key: string;
  readonly waiter: LockWaiter;
  readonly holder: LockHolder;
}

/** Names two clients if each waits for a lock of the other, and has held its own since before it began to wait. */
export function describeCycles(locks: readonly LockState[], now: number): Finding {
  const edges = locks.flatMap(({ key, waiters, holders }) =>
    waiters.flatMap((waiter) => holders.map((holder): Edge => ({ key, waiter, holder }))),
  );
  // The longest wait first: Redis lists keys in an order of its own.
  const stuck = edges
    .filter(({ waiter, holder }) => waiter.client !== holder.client && now - waiter.since.getTime() >= SHORT_WAIT)
    .sort((one, other) => one.waiter.since.getTime() - other.waiter.since.getTime());
  const pairs = stuck.flatMap((one, i) =>
    stuck.slice(i + 1).flatMap((other) => (waitForEachOther(one, other) ? [[one, other] as const] : [])),
  );
  const [pair] = pairs;
  if (pair === undefined) return ok('deadlocks', 'no two processes wait for each other');
  const story = pair.map(
    ({ key, waiter, holder }) =>
      `${labelName(waiter)} has waited for '${safe(key)}' for ${time(now - waiter.since.getTime())}, which ${labelName(holder)} holds`,
  );
  const more = pairs.length === 1 ? '' : `; ${pairs.length - 1} more such pairs`;
  return warning(
    'deadlocks',
    `${story.join('; ')}${more}`,
    "if one call holds a lock and waits for the next, let all calls acquire both in the same order, or in one step: acquire(['a', 'b']). " +
      'release --force with the id of one hold ends this deadlock',
  );
}

const waitForEachOther = (one: Edge, other: Edge): boolean =>
  one.waiter.client === other.holder.client &&
  other.waiter.client === one.holder.client &&
  one.key !== other.key &&
  other.holder.since <= one.waiter.since &&
  one.holder.since <= other.waiter.since;
