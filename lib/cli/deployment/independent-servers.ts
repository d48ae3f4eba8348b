import { Redis, type RedisOptions } from 'ioredis';
import { guardCredentials } from '../../store/redis/credentials.js';
import { answerUnless, clientOptions, connectWithin, isRefusal, retryDelay, type Deployment } from './deployment.js';

/** One server, or the masters of Redlock. */
export function independentServers(connections: ReadonlyArray<string | RedisOptions>, timeout: number): Deployment {
  const clients = connections.map((each) => clientOf(each, timeout));
  const [only, ...others] = clients;
  const deployment: Deployment = {
    kind: others.length === 0 ? 'one server' : 'redlock',
    connection: others.length === 0 ? only! : clients,
    servers: () => clients.map((client) => ({ client, address: addressOf(client), serves: () => true })),
    // With Redlock, a minority of the masters may fail. The findings about them say so.
    async connect() {
      const connected = await Promise.allSettled(
        clients.map((client) => {
          // Connecting succeeds even with a wrong password. The first command shows it, unless the user may not call TIME.
          const connect = (): Promise<unknown> => client.connect().then(() => answerUnless(isRefusal, client.time()));
          return connectWithin(timeout, { client, name: addressOf(client), connect });
        }),
      );
      const failures = connected.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
      if (2 * failures.length >= clients.length) throw failures[0]!;
    },
    close: () => clients.forEach((client) => client.disconnect()),
  };
  guardCredentials(deployment, connections);
  return deployment;
}

function clientOf(connection: string | RedisOptions, timeout: number): Redis {
  const own = { ...clientOptions(timeout), retryStrategy: retryDelay, lazyConnect: true };
  const client =
    typeof connection === 'string'
      ? new Redis(connection, { ...own, keyPrefix: '' })
      : new Redis({
          ...own,
          // ioredis asks one Sentinel after the other. Silent ones leave time for the next one, and for the server.
          sentinelCommandTimeout: timeout / ((connection.sentinels?.length ?? 0) + 1),
          ...connection,
          keyPrefix: '',
          lazyConnect: true,
        });
  // The failed command reports the error.
  return client.on('error', () => undefined);
}

/** With Sentinels, the name of the master: the server itself may change. */
function addressOf({ options: { sentinels, name, path, host, port } }: Redis): string {
  if (sentinels) return name ?? 'Sentinels';
  return path ?? `${host ?? ''}:${port ?? ''}`;
}
