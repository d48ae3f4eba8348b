import type { Redis } from 'ioredis';
import { isAnswer } from './answers.js';

/** The line of INFO that marks a replica. Dragonfly writes the second word. */
const REPLICA = /^role:(slave|replica)\b/m;

/**
 * Whether a connection leads to a replica. A replica would accept the subscription, but the master would not see the
 * subscriber and take it for absent. Ask this before subscribing: RESP2 refuses INFO afterwards. A server that does not
 * permit INFO counts as a master.
 */
export async function isReplica(client: Redis): Promise<boolean> {
  try {
    return REPLICA.test(await client.info('replication'));
  } catch (error) {
    if (isAnswer(error)) return false;
    throw error;
  }
}
