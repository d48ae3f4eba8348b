import type { LockService } from '../service/lock.service.js';
import { createLockService } from '../module/redis-lock.composition.js';
import type { LockConnectionOption } from '../module/redis-lock.connection.js';
import { resolveModuleOptions } from '../module/redis-lock.options.js';
import type { ClusterAddress } from '../store/redis/passed-client.js';
import { refusing, type CommandLine } from './arguments.js';
import { clusterServers } from './deployment/cluster-servers.js';
import { timeOf, type Deployment, type WrittenConnection } from './deployment/deployment.js';
import { independentServers } from './deployment/independent-servers.js';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

/** The servers of a command line, and the locks on them. */
export interface Session extends AsyncDisposable {
  readonly deployment: Deployment;
  readonly locks: LockService;
  readonly prefix: string;
  /** ms */
  readonly timeout: number;
}

/**
 * Connects.
 * @throws UsageError for a connection that cannot be used; an error if a server cannot be reached
 */
export async function connect({ connections, prefix, timeout }: CommandLine): Promise<Session> {
  const [first] = connections;
  // Refuses what the module would refuse in an application.
  const options = refusing(() =>
    resolveModuleOptions({
      connection: (connections.length === 1 ? first : connections) as LockConnectionOption,
      keyPrefix: prefix,
      commandTimeout: timeout,
      shutdownTimeout: 0,
    }),
  );
  const deployment = isClusterAddress(first)
    ? clusterServers(first, timeout)
    : independentServers(connections as ReadonlyArray<Exclude<WrittenConnection, ClusterAddress>>, timeout);
  // Connections do not keep the process running: an answer may be all that the command waits for.
  const running = setInterval(() => undefined, 2 ** 30);
  try {
    await deployment.connect();
    const locks = createLockService({ ...options, connection: () => deployment.connection }, SILENT);
    // The service has connections of its own, and lists the keys of the masters that it knows. A user without the rights
    // for locks may look nevertheless.
    if (deployment.kind === 'cluster') await locks.start().catch(() => undefined);
    return {
      ...{ deployment, locks, timeout, prefix: options.keyPrefix },
      async [Symbol.asyncDispose]() {
        await locks.close();
        deployment.close();
        clearInterval(running);
      },
    };
  } catch (error) {
    clearInterval(running);
    deployment.close();
    throw error;
  }
}

const isClusterAddress = (connection: WrittenConnection | undefined): connection is ClusterAddress =>
  typeof connection === 'object' && 'cluster' in connection;

/** The time of the first server that answers, in ms. The ages of holds refer to that clock. */
export async function serverTime({ deployment }: Session): Promise<number> {
  const times = deployment.servers().map(({ client }) => timeOf(client));
  return Promise.any(times).catch(() => Date.now());
}
