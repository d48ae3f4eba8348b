import { redisKeys } from '../../keys/index.js';
import type { ServerIdentity } from '../quorum-member.js';
import type { Commands } from './line.js';
import { matching } from './reply-readers.js';
import type { Asker } from './script-runner.js';
import { isAnswer } from './store-failure.js';

/** INFO has lines such as `role:master`. */
const INFO = /^\w+:/m;
/** The error of a server that does not permit the question or does not know it. */
const REFUSED = /\bNOPERM\b|unknown command/i;

/**
 * Asks a server for its identity; `undefined` if it does not permit that.
 * @throws LockStoreError if it does not answer in time
 */
export async function readServerIdentity(
  asker: Asker,
  addressOf: () => string | undefined,
): Promise<ServerIdentity | undefined> {
  try {
    const info = await asker.ask(['INFO'], (raw) => matching(INFO, raw).input);
    const micros = /^server_time_usec:(\d+)/m.exec(info)?.[1];
    return {
      runId: /^run_id:(\S+)/m.exec(info)?.[1],
      time: micros === undefined ? undefined : Math.floor(Number(micros) / 1_000),
      address: addressOf(),
      inCluster: /^cluster_enabled:1\b/m.test(info),
    };
  } catch (error) {
    if (error instanceof Error && REFUSED.test(error.message)) return undefined;
    throw error;
  }
}

/** The line of INFO that marks a replica. Dragonfly writes the second word. */
const REPLICA = /^role:(slave|replica)\b/m;

/**
 * Whether a connection leads to a replica. A replica would accept the subscription, but the master would not see the
 * subscriber and take it for absent. Ask this before subscribing: RESP2 refuses INFO afterwards. A server that does not
 * permit INFO counts as a master.
 */
export const isReplica = (line: Commands): Promise<boolean> =>
  unlessRefused(async () => REPLICA.test(String(await line.send('INFO', 'replication'))), false);

/** The id of a node of a Cluster; `undefined` if the server does not permit or know the question. */
export const nodeId = (line: Commands): Promise<string | undefined> =>
  unlessRefused<string | undefined>(async () => String(await line.send('CLUSTER', 'MYID')), undefined);

/** Among so many keys, another master serves some, unless it serves very few slots. */
const MANY = 500;

/**
 * Whether a connection leads to a node of a Cluster that serves only some of the slots. One node that serves all of them
 * answers, and so does a proxy in front of a Cluster, although it may report several masters.
 */
export const isOneOfSeveral = (line: Commands, keyPrefix: string): Promise<boolean> =>
  unlessRefused(async () => {
    if (!/^cluster_enabled:1/m.test(String(await line.send('INFO', 'cluster')))) return false;
    const keys = Array.from({ length: MANY }, (_, i) => redisKeys(keyPrefix, String(i)).state);
    const asked = keys.map((key) => line.send('EVAL', 'return 1', 1, key));
    const replies = await Promise.allSettled(asked);
    return replies.some((reply) => reply.status === 'rejected' && isMoved(reply.reason));
  }, false);

/** The answer to a question, or `otherwise` if the server does not permit or know the question. */
async function unlessRefused<T>(ask: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (isAnswer(error)) return otherwise;
    throw error;
  }
}

/** The error of a master that does not serve the slot of a key or channel. */
export const isMoved = (error: unknown): boolean => error instanceof Error && /^MOVED /.test(error.message);
