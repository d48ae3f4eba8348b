import { Redis, type RedisOptions } from 'ioredis';
import type { LockService } from '../lock.service.js';
import { createLockService } from '../redis-lock.composition.js';
import { readConnections } from '../redis-lock.connection.js';
import { resolveModuleOptions } from '../redis-lock.options.js';
import { storeFailure } from '../store/redis/store-failure.js';
import { refusing, type CommandLine } from './arguments.js';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

/** The servers of a command line, and the locks on them. */
export interface Session extends AsyncDisposable {
  /** One; with Redlock several. */
  readonly clients: readonly Redis[];
  readonly locks: LockService;
  readonly prefix: string;
  /** ms */
  readonly timeout: number;
}

/**
 * Connects.
 * @throws UsageError for a connection that cannot be used; an error when a server cannot be reached
 */
export async function connect({ connections, prefix, timeout }: CommandLine): Promise<Session> {
  const given = connections.length === 1 ? connections[0] : [...connections];
  refusing(() => readConnections(given));
  const clients = connections.map((each) => clientOf(each, timeout));
  const close = (): void => clients.forEach((client) => client.disconnect());
  try {
    const options = refusing(() =>
      resolveModuleOptions({
        connection: clients.length === 1 ? clients[0] : clients,
        ...(prefix === undefined ? {} : { keyPrefix: prefix }),
        commandTimeout: timeout,
        shutdownTimeout: 0,
      }),
    );
    // Redlock does without a minority; what is told of the others says so.
    const connected = await Promise.allSettled(clients.map((client) => connectWithin(client, timeout)));
    const failures = connected.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
    if (2 * failures.length >= clients.length) throw failures[0]!;
    const locks = createLockService(options, SILENT);
    return {
      ...{ clients, locks, timeout, prefix: options.keyPrefix },
      async [Symbol.asyncDispose]() {
        await locks.close();
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

function clientOf(connection: string | RedisOptions, timeout: number): Redis {
  const own = {
    lazyConnect: true,
    connectTimeout: timeout,
    commandTimeout: timeout,
    disconnectTimeout: 100,
    maxRetriesPerRequest: 1,
    // A user who may not say INFO gets an answer all the same.
    enableReadyCheck: false,
    connectionName: 'nestjs-redis-locks-cli',
    retryStrategy: (times: number) => Math.min(200 * times, 2_000),
  };
  const client =
    typeof connection === 'string'
      ? new Redis(connection, own)
      : new Redis({ ...own, ...connection, lazyConnect: true });
  // Whoever asks hears of it.
  return client.on('error', () => undefined);
}

/** An address alone; what else is in the options may be secret. */
export const addressOf = ({ options }: Redis): string => options.path ?? `${options.host ?? ''}:${options.port ?? ''}`;

async function connectWithin(client: Redis, timeout: number): Promise<void> {
  let last: Error | undefined;
  const remember = (error: Error): void => void (last = error);
  client.on('error', remember);
  try {
    // Connecting succeeds before a wrong password is told, and asking tells it.
    await Promise.race([client.connect().then(() => client.time()), after(timeout)]);
  } catch (error) {
    // Whoever may not ask for the time is connected, though.
    if (isRefusal(error)) return;
    const { message } = storeFailure(last ?? error);
    throw new Error(`${addressOf(client)}: ${message}`, { cause: error });
  } finally {
    client.off('error', remember);
  }
}

/** What a server answers that does not let its user ask. */
export const isRefusal = (error: unknown): error is Error => error instanceof Error && /\bNOPERM\b/.test(error.message);

async function after(ms: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref());
  throw new Error(`no answer within ${ms} ms`);
}
