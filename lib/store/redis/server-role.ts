import type { Redis } from 'ioredis';
import { isAnswer } from './answers.js';

/** What INFO says of a replica; Dragonfly has the second name for it. */
const REPLICA = /^role:(slave|replica)\b/m;

/**
 * Whether a connection leads to a replica. That would let us subscribe, but the master does not see who listens there, and
 * takes it for absent. To be asked before that: RESP2 knows no INFO after. A server that does not let us ask is none.
 */
export async function isReplica(client: Redis): Promise<boolean> {
  try {
    return REPLICA.test(await client.info('replication'));
  } catch (error) {
    if (isAnswer(error)) return false;
    throw error;
  }
}
