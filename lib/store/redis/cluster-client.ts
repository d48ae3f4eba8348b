import { lookup } from 'node:dns';
import { Cluster, type ClusterNode, type ClusterOptions, type Redis } from 'ioredis';
import {
  EXACT_CLUSTER_OPTIONS,
  EXACT_NODE_OPTIONS,
  KEEP_ALIVE,
  LINGER,
  retryDelay,
  silenceLimit,
} from './connection-options.js';
import { letProcessEnd } from './let-process-end.js';

/**
 * Handles the rejections of ASKING. While a slot migrates, ioredis sends ASKING before the command and handles the reply to
 * the command only. If the connection breaks, the reply to ASKING would be an unhandled rejection, and end the process.
 */
export function handleAsking(node: Redis): void {
  const asking = node.asking.bind(node);
  node.asking = () => {
    const asked = asking();
    asked.catch(() => undefined);
    return asked;
  };
}

/**
 * Creates a client with the user's options, and the options that locks need. `startup`: the nodes that it asks each
 * time it connects. ioredis reads the list each time.
 */
export function connectCluster(
  startup: ClusterNode[],
  options: ClusterOptions = {},
  commandTimeout: number,
  label?: string,
): Cluster {
  const cluster = new Cluster(startup, {
    clusterRetryStrategy: retryDelay,
    // ioredis counts a retry every 100 ms while a master is away as a redirection. commandTimeout limits the time.
    maxRedirections: 16 + Math.ceil(commandTimeout / 100),
    dnsLookup: lookUp,
    // The ready check asks one master and waits for its answer; that master may be frozen.
    enableReadyCheck: false,
    ...options,
    ...EXACT_CLUSTER_OPTIONS,
    redisOptions: {
      ...(label !== undefined && { connectionName: label }),
      disconnectTimeout: LINGER,
      keepAlive: KEEP_ALIVE,
      socketTimeout: silenceLimit(commandTimeout),
      ...options.redisOptions,
      ...EXACT_NODE_OPTIONS,
    },
  });
  // ioredis opens a connection for subscriptions. The library has connections of its own for them.
  (cluster as unknown as { subscriber: { start: () => void } }).subscriber.start = () => undefined;
  return letProcessEnd(cluster);
}

/** Makes an unknown host name fail only its own node. Otherwise ioredis would not ask the other nodes either. */
const lookUp: NonNullable<ClusterOptions['dnsLookup']> = (name, answer) =>
  lookup(name, (error, address, family) => answer(null, error ? name : address, family));

/** The reason why no node could be asked. ioredis hides it in the error. */
export function reasonOf(error: Error & { lastNodeError?: Error }): Error {
  return error.lastNodeError ?? error;
}
