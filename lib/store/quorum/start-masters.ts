import { isLockConfigError, type LockConfigError } from '../../errors/index.js';
import { gather, refuseMinority, valuesOf } from './gather.js';
import type { Membership } from './member.js';
import type { QuorumContext } from './quorum-context.js';

/** After a majority has started, the others get this many ms to show that they are not independent. */
const START_GRACE = 250;

/**
 * Connects all masters, and finds out whether they are independent servers. Resolves when a majority is ready.
 * @throws LockConfigError if masters are not independent; LockStoreError if no majority can be reached
 */
export async function startMasters(membership: Membership, context: QuorumContext): Promise<void> {
  const { members, quorum, clock } = context;
  let unusable: LockConfigError | undefined;
  const refuse = (): void => {
    const refusal = unusable ?? membership.refusal;
    if (refusal !== undefined) throw refusal;
  };
  const starts = members.map(async (member) => {
    try {
      await member.store.start();
    } catch (error) {
      if (isLockConfigError(error)) unusable ??= error;
      throw error;
    }
    await member.admit();
  });
  await gather(starts, { quorum, clock }, (answers, last) => {
    refuse();
    refuseMinority(answers, quorum);
    return last || valuesOf(answers).length >= quorum ? true : undefined;
  });
  let timer: unknown;
  const limit = new Promise<void>((resolve) => {
    timer = clock.setTimer(START_GRACE, resolve);
  });
  await Promise.race([Promise.allSettled(starts), limit]);
  clock.clearTimer(timer);
  refuse();
  membership.hasStarted = true;
}
