import { readingClock } from '../../common/reading-timer.js';
import { LockStoreError } from '../../errors/index.js';
import type { ServerIdentity } from '../quorum-member.js';
import type { Commands } from './line.js';
import { matching, readReply } from './reply-readers.js';
import { storeFailure } from './store-failure.js';

/** INFO has lines such as `role:master`. */
const INFO = /^\w+:/m;
/** The error of a server that does not permit the question or does not know it. */
const REFUSED = /\bNOPERM\b|unknown command/i;

/**
 * Asks a server for its identity; `undefined` if it does not permit that.
 * @throws LockStoreError if it does not answer within `timeout` ms
 */
export async function readServerIdentity(
  commands: Commands,
  timeout: number,
  addressOf: () => string | undefined,
  clock = readingClock,
): Promise<ServerIdentity | undefined> {
  let timer: unknown;
  const limit = new Promise<never>((_resolve, reject) => {
    const message = `Redis did not identify itself within ${timeout} ms (commandTimeout)`;
    timer = clock.setTimer(timeout, () => reject(new LockStoreError(message, { transient: true })));
  });
  try {
    const info = readReply(
      'INFO',
      await Promise.race([commands.send('INFO'), limit]),
      (raw) => matching(INFO, raw).input,
    );
    const micros = /^server_time_usec:(\d+)/m.exec(info)?.[1];
    return {
      runId: /^run_id:(\S+)/m.exec(info)?.[1],
      time: micros === undefined ? undefined : Math.floor(Number(micros) / 1_000),
      address: addressOf(),
      inCluster: /^cluster_enabled:1\b/m.test(info),
    };
  } catch (error) {
    if (error instanceof Error && REFUSED.test(error.message)) return undefined;
    throw storeFailure(error);
  } finally {
    clock.clearTimer(timer);
  }
}
