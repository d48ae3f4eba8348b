import { clientChannel, redisKeys, shardChannel } from '../../keys/index.js';
import type { Server } from '../deployment/deployment.js';
import type { Session } from '../session.js';

/** The names that the doctor uses to check one server. No other program uses them. */
export interface Trial {
  readonly server: Server;
  readonly inCluster: boolean;
  readonly prefix: string;
  /** ms */
  readonly timeout: number;
  /** The name of a key that this server serves. */
  readonly state: string;
  readonly channel: string;
  /** A channel in a slot of this server. */
  readonly slotChannel: string;
}

/** Creates the names for a server whose slots are known. */
export function trialAt(server: Server, { deployment, prefix, timeout }: Session, id: string): Trial {
  let key = `doctor:${id}`;
  for (let n = 1; !server.serves(redisKeys(prefix, key).state); n++) key = `doctor:${id}:${n}`;
  return {
    ...{ server, prefix, timeout },
    inCluster: deployment.kind === 'cluster',
    state: redisKeys(prefix, key).state,
    channel: clientChannel(prefix, id),
    slotChannel: shardChannel(prefix, key, id),
  };
}
