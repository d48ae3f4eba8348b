import { Redis, type RedisOptions, type SentinelAddress } from 'ioredis';
import { LINGER } from './connection-options.js';
import { letProcessEnd } from './let-process-end.js';

/** The answer of one Sentinel about the master. */
export interface SentinelAnswer {
  readonly address: { readonly host: string; readonly port: number };
  /** The configuration epoch; -1 if the Sentinel does not permit the question. */
  readonly epoch: number;
  /** The other Sentinels that it knows. */
  readonly others: ReadonlyArray<{ readonly host: string; readonly port: number }>;
}

/** Creates a connection to a Sentinel with the user's options for Sentinels. It opens at its first use. */
export function connectSentinel(
  { host, port, family }: SentinelAddress,
  options: RedisOptions,
  own: RedisOptions,
): Redis {
  const client = letProcessEnd(
    new Redis({
      ...{ host, port, family: family ?? options.family },
      username: options.sentinelUsername ?? undefined,
      password: options.sentinelPassword ?? undefined,
      tls: options.sentinelTLS,
      connectTimeout: options.connectTimeout,
      disconnectTimeout: LINGER,
      enableReadyCheck: false,
      lazyConnect: true,
      retryStrategy: null,
      // RESP2: all versions of ioredis read its lists alike, unlike the maps of RESP3.
      protocol: 2,
      ...own,
    }),
  );
  // The failed command reports the error. On a connection that only listens, the silence shows it.
  client.on('error', () => undefined);
  return client;
}

/**
 * Asks one Sentinel for the address of the master, and for its configuration epoch.
 * @throws Error if the Sentinel cannot be reached, or does not know the master
 */
export async function askSentinel(
  sentinel: SentinelAddress,
  options: RedisOptions,
  giveUp: AbortSignal,
): Promise<SentinelAnswer> {
  const client = connectSentinel(sentinel, options, {});
  const leave = (): void => client.disconnect();
  giveUp.addEventListener('abort', leave, { once: true });
  try {
    const { name = '' } = options;
    // The order matters: the address must not be older than the epoch, which may belong to a configuration that has
    // just been replaced.
    const replies = await client
      .pipeline()
      .call('SENTINEL', 'MASTER', name)
      .call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
      .call('SENTINEL', 'SENTINELS', name)
      .exec();
    const [[, master], [error, address], [, others]] = replies as Array<[Error | null, unknown]> as [
      [Error | null, unknown],
      [Error | null, unknown],
      [Error | null, unknown],
    ];
    if (error) throw error;
    if (!Array.isArray(address)) throw new Error(`a Sentinel does not know the master '${name}'`);
    return {
      address: { host: String(address[0]), port: Number(address[1]) },
      epoch: Number(read(master)['config-epoch'] ?? -1),
      others: (Array.isArray(others) ? others : [])
        .map(read)
        .filter(({ flags = '', ip, port }) => !flags.includes('disconnected') && ip && port)
        .map(({ ip, port }) => ({ host: String(ip), port: Number(port) })),
    };
  } finally {
    giveUp.removeEventListener('abort', leave);
    client.disconnect();
  }
}

/** Reads a flat list of names and values. */
function read(reply: unknown): Record<string, string> {
  const fields: Record<string, string> = {};
  if (!Array.isArray(reply)) return fields;
  for (let i = 0; i + 1 < reply.length; i += 2) fields[String(reply[i])] = String(reply[i + 1]);
  return fields;
}
