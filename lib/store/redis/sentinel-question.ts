import { Redis, type RedisOptions, type SentinelAddress } from 'ioredis';
import { LINGER } from './connection-options.js';

/** What one Sentinel says of the master. */
export interface SentinelAnswer {
  readonly address: { readonly host: string; readonly port: number };
  /** The configuration epoch; -1: the Sentinel may not be asked for it. */
  readonly epoch: number;
  /** The other Sentinels that it sees. */
  readonly others: ReadonlyArray<{ readonly host: string; readonly port: number }>;
}

/** A connection to a Sentinel, by the user's options for Sentinels; it is opened when it is first used. */
export function connectSentinel(
  { host, port, family }: SentinelAddress,
  options: RedisOptions,
  own: RedisOptions,
): Redis {
  const client = new Redis({
    ...{ host, port, family: family ?? options.family },
    username: options.sentinelUsername ?? undefined,
    password: options.sentinelPassword ?? undefined,
    tls: options.sentinelTLS,
    connectTimeout: options.connectTimeout,
    disconnectTimeout: LINGER,
    enableReadyCheck: false,
    lazyConnect: true,
    retryStrategy: null,
    // Lists, and no maps: they are read alike by all versions of ioredis.
    protocol: 2,
    ...own,
  });
  // Whoever asks hears of it; and of one that listens, that it is silent.
  client.on('error', () => undefined);
  return client;
}

/**
 * Asks one Sentinel where the master is, and of which configuration it speaks.
 * @throws Error when it cannot be reached, or does not know
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
    // In this order: the address is no older than the epoch, which may be that of a configuration just replaced.
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
    if (!Array.isArray(address)) throw new Error(`a Sentinel knows no master '${name}'`);
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

/** Names and values, one behind the other. */
function read(reply: unknown): Record<string, string> {
  const fields: Record<string, string> = {};
  if (!Array.isArray(reply)) return fields;
  for (let i = 0; i + 1 < reply.length; i += 2) fields[String(reply[i])] = String(reply[i + 1]);
  return fields;
}
