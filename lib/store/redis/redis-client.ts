import { Redis, type RedisOptions } from 'ioredis';
import { LockConfigError } from '../../errors/index.js';
import { isAnswer } from './answers.js';
import type { ClientEvents } from './client-events.js';
import { EXACT_OPTIONS, OWN_OPTIONS, retryDelay, SENTINEL_OPTIONS, silenceLimit } from './connection-options.js';
import { letProcessEnd } from './let-process-end.js';
import { connectorTo } from './sentinel-connector.js';
import { Sentinels } from './sentinels.js';

/** The address to which a client is connected. */
export const peerOf = ({ stream }: Redis): string => `${stream.remoteAddress}:${stream.remotePort}`;

/** What the library adds to the options of a client. */
export interface OwnClientOptions {
  readonly commandTimeout: number;
  /** Its name in `CLIENT LIST`. */
  readonly label?: string | undefined;
}

/** Creates a client with the user's address and options, and the options that locks need. It is not connected yet. */
export function createClient(
  connection: string | RedisOptions,
  { commandTimeout, label }: OwnClientOptions,
  sentinels: Sentinels | undefined,
): Redis {
  const options: RedisOptions = {
    ...OWN_OPTIONS,
    ...(label !== undefined && { connectionName: label }),
    socketTimeout: silenceLimit(commandTimeout),
    ...(sentinels && { Connector: connectorTo(sentinels) }),
  };
  const client =
    typeof connection === 'string'
      ? new Redis(connection, { ...options, ...EXACT_OPTIONS })
      : new Redis({ ...options, ...(connection.sentinels && SENTINEL_OPTIONS), ...connection, ...EXACT_OPTIONS });
  // Otherwise ioredis 5 would send commands before the server has accepted the database.
  if (client.options.db) client.options.enableReadyCheck = true;
  return refusingOtherDatabases(letProcessEnd(client));
}

/** Creates another client with the options of a client that the library has created. */
export const duplicateOf = (client: Redis, options: RedisOptions): Redis =>
  refusingOtherDatabases(letProcessEnd(client.duplicate(options)));

/** Disconnects if the server refuses the database. ioredis would continue in database 0. */
function refusingOtherDatabases(client: Redis): Redis {
  const select = client.select.bind(client);
  client.select = (db: number) => {
    const selected = select(db);
    selected.catch(() => client.disconnect(true));
    return selected;
  };
  return client;
}

/** What to do about the refusal of a database; `undefined` if the error is another one. */
export function databaseRefusal(error: Error): LockConfigError | undefined {
  const { name, args } = (error as { command?: { name?: string; args?: unknown[] } }).command ?? {};
  if (name !== 'select' || !isAnswer(error) || /^(NOAUTH|WRONGPASS|LOADING|MASTERDOWN)/.test(error.message))
    return undefined;
  return new LockConfigError(
    `Redis refuses database ${String(args?.[0])} of connection: ${error.message}. ` +
      'Write a database that it has, such as 0: redis://host:6379/0 or { db: 0 }.',
    { cause: error },
  );
}

/** What a client waits for that has reached its server; `undefined` if the server was not reached. */
export function unansweredBy({ status, stream, options }: Redis): Error | undefined {
  if (stream === undefined || stream.connecting || stream.remoteAddress === undefined) return undefined;
  const server = `${stream.remoteAddress}:${stream.remotePort}`;
  if (status === 'connecting' && options.tls) {
    return new Error(
      `${server} accepts connections and does not answer with TLS: write redis:// for a server without TLS`,
    );
  }
  return status === 'connect' ? new Error(`${server} accepts connections and does not answer`) : undefined;
}

/**
 * The Sentinels in the options of a client; `undefined` if there are none. If an option is missing, ioredis says which.
 * `moved` is called when the master has changed.
 */
export function sentinelsOf(connection: string | RedisOptions, moved: () => void): Sentinels | undefined {
  if (typeof connection === 'string' || connection.Connector !== undefined) return undefined;
  const { sentinels, name, role = 'master' } = connection;
  if (!sentinels?.length || !name || role !== 'master') return undefined;
  return new Sentinels({ ...SENTINEL_OPTIONS, ...connection }, moved);
}

/**
 * Reconnects a client that has ended. ioredis gives up for good if the Sentinels announce a failover
 * (`failoverDetector`) while it asks them for the master, as after the death of the old one.
 */
export function reconnectAfterEnd(client: Redis, events: ClientEvents): void {
  events.on(client, 'end', () => {
    if (events.isStopped || !client.options.sentinels) return;
    setTimeout(() => {
      if (!events.isStopped && client.status === 'end') client.connect().catch(() => undefined);
    }, retryDelay(1)).unref();
  });
}
