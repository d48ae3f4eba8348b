import { Redis, type RedisOptions } from 'ioredis';
import type { ClientEvents } from './client-events.js';
import { OWN_OPTIONS, retryDelay, SENTINEL_OPTIONS, silenceLimit } from './connection-options.js';
import { connectorTo } from './sentinel-connector.js';
import { Sentinels } from './sentinels.js';

/** Whether the application passed in a client, made by any copy of ioredis. */
export const isClient = (connection: string | RedisOptions | Redis): connection is Redis =>
  typeof connection === 'object' && 'duplicate' in connection && typeof connection.duplicate === 'function';

/** The address to which a client is connected. */
export const peerOf = ({ stream }: Redis): string => `${stream.remoteAddress}:${stream.remotePort}`;

/** What the library adds to the options of a client. */
export interface OwnClientOptions {
  readonly commandTimeout: number;
  /** Its name in `CLIENT LIST`. */
  readonly label?: string | undefined;
}

/** Creates a client that the library owns. It is not connected yet. */
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
  return typeof connection === 'string'
    ? new Redis(connection, { ...options, lazyConnect: true })
    : new Redis({ ...options, ...(connection.sentinels && SENTINEL_OPTIONS), ...connection, lazyConnect: true });
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
