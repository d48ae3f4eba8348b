import { hashSlot, redisKeys } from '../../keys/index.js';
import { isAnswer } from './store-failure.js';
import type { Commands } from './line.js';

/** The line of INFO that marks a replica. Dragonfly writes the second word. */
const REPLICA = /^role:(slave|replica)\b/m;

/**
 * Whether a connection leads to a replica. A replica would accept the subscription, but the master would not see the
 * subscriber and take it for absent. Ask this before subscribing: RESP2 refuses INFO afterwards. A server that does not
 * permit INFO counts as a master.
 */
export async function isReplica(line: Commands): Promise<boolean> {
  try {
    return REPLICA.test(String(await line.send('INFO', 'replication')));
  } catch (error) {
    if (isAnswer(error)) return false;
    throw error;
  }
}

/** The id of a node of a Cluster; `undefined` if the server does not permit or know the question. */
export async function nodeId(line: Commands): Promise<string | undefined> {
  try {
    return String(await line.send('CLUSTER', 'MYID'));
  } catch (error) {
    if (isAnswer(error)) return undefined;
    throw error;
  }
}

/** The beginning of an entry of the reply to CLUSTER SLOTS. */
type SlotRange = readonly [start: number, end: number, master: readonly [host: string, port: number]];
/** Among so many keys, each master serves some. */
const MANY = 5_000;

/**
 * Whether a connection leads to a node of a Cluster that serves only some of the slots. One node that serves all of them
 * answers, and so does a proxy in front of a Cluster, although it may report several masters.
 */
export async function isOneOfSeveral(line: Commands, keyPrefix: string): Promise<boolean> {
  try {
    if (!/^cluster_enabled:1/m.test(String(await line.send('INFO', 'cluster')))) return false;
    const ranges = (await line.send('CLUSTER', 'SLOTS')) as SlotRange[];
    const samples = new Map<string, string>();
    for (let i = 0; i < MANY; i++) {
      const { state } = redisKeys(keyPrefix, String(i));
      const slot = hashSlot(state);
      const master = ranges.find(([start, end]) => start <= slot && slot <= end)?.[2].join(':');
      if (master !== undefined && !samples.has(master)) samples.set(master, state);
    }
    const asked = [...samples.values()].map((key) => line.send('EVAL', 'return 1', 1, key));
    const replies = await Promise.allSettled(asked);
    return replies.some((reply) => reply.status === 'rejected' && /^MOVED /.test((reply.reason as Error).message));
  } catch (error) {
    if (isAnswer(error)) return false;
    throw error;
  }
}
