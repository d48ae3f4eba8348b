import { Redis, type RedisOptions } from 'ioredis';
import { guardCredentials } from '../../store/redis/credentials.js';
import { answerUnless, clientOptions, connectWithin, isRefusal, retryDelay } from './deployment.js';
import type { Deployment, Server } from './deployment.js';

/** One server, or the masters of Redlock. */
export class IndependentServers implements Deployment {
  private readonly clients: readonly Redis[];

  constructor(
    connections: ReadonlyArray<string | RedisOptions>,
    private readonly timeout: number,
  ) {
    guardCredentials(this, connections);
    this.clients = connections.map((each) => clientOf(each, timeout));
  }

  get kind(): Deployment['kind'] {
    return this.clients.length === 1 ? 'one server' : 'redlock';
  }

  get connection(): Redis | readonly Redis[] {
    return this.clients.length === 1 ? this.clients[0]! : this.clients;
  }

  servers(): Server[] {
    return this.clients.map((client) => ({ client, address: addressOf(client), serves: () => true }));
  }

  /** With Redlock, a minority of the masters may fail. The findings about them say so. */
  async connect(): Promise<void> {
    const connected = await Promise.allSettled(
      this.clients.map((client) => {
        // Connecting succeeds even with a wrong password. The first command shows it, unless the user may not call TIME.
        const connect = (): Promise<unknown> => client.connect().then(() => answerUnless(isRefusal, client.time()));
        return connectWithin(this.timeout, { client, name: addressOf(client), connect });
      }),
    );
    const failures = connected.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
    if (2 * failures.length >= this.clients.length) throw failures[0]!;
  }

  close(): void {
    for (const client of this.clients) client.disconnect();
  }
}

function clientOf(connection: string | RedisOptions, timeout: number): Redis {
  const own = { ...clientOptions(timeout), retryStrategy: retryDelay, lazyConnect: true };
  const client =
    typeof connection === 'string'
      ? new Redis(connection, { ...own, keyPrefix: '' })
      : new Redis({ ...own, ...connection, keyPrefix: '', lazyConnect: true });
  // The failed command reports the error.
  return client.on('error', () => undefined);
}

/** With Sentinels, the name of the master: the server itself may change. */
function addressOf({ options: { sentinels, name, path, host, port } }: Redis): string {
  if (sentinels) return name ?? 'Sentinels';
  return path ?? `${host ?? ''}:${port ?? ''}`;
}
