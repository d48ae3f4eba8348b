import type { Hold } from '../engine/hold.js';
import type { LockEngine } from '../engine/lock-engine.js';
import type { LockHealth, LockHealthOptions } from './lock-health.js';
import { readDuration, refuseUnknownOptions } from '../options/option-readers.js';

/** Any key will do: looking at it writes nothing, and takes the way that locks take. */
const PROBE = 'health';

/** Asks Redis, and looks at the subscription and at the holds. */
export async function readLockHealth(engine: LockEngine, options: LockHealthOptions = {}): Promise<LockHealth> {
  refuseUnknownOptions('health', options, ['timeout']);
  const timeout = options.timeout === undefined ? engine.commandTimeout : readDuration('timeout', options.timeout);
  const answer = await ask(engine, timeout);
  const holds = engine.holds.all();
  return {
    ...answer,
    subscribed: engine.store.hearsAll ?? engine.store.listening,
    watchdogLag: Math.max(0, ...holds.map((hold) => overdue(hold, engine))),
    held: holds.length,
  };
}

async function ask(
  engine: LockEngine,
  timeout: number,
): Promise<Pick<LockHealth, 'reachable' | 'error' | 'roundTrip'>> {
  const { clock } = engine;
  const since = clock.now();
  let timer: unknown;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = clock.setTimer(timeout, () => reject(new Error(`Redis did not answer within ${timeout} ms`)));
  });
  try {
    await Promise.race([engine.inspect(PROBE), limit]);
    return { reachable: true, error: undefined, roundTrip: clock.now() - since };
  } catch (error) {
    return { reachable: false, error: (error as Error).message, roundTrip: undefined };
  } finally {
    clock.clearTimer(timer);
  }
}

/** For how many ms a renewal has been due that has not been answered; 0 or less: it is not due. */
function overdue(hold: Hold, { clock, grantTimeout }: LockEngine): number {
  const { renews, maxRenewTimes } = hold.terms;
  const isRenewed = renews && !hold.abandoned && (maxRenewTimes === 0 || hold.renewals < maxRenewTimes);
  if (!isRenewed) return 0;
  // One that was handed over has a short first lease, whose end tells nothing of the full one.
  const due =
    hold.missingLease > 0
      ? hold.acquiredAt + Math.min(grantTimeout, hold.lease) / 3
      : hold.validUntil - (hold.lease * 2) / 3;
  return clock.now() - due;
}
