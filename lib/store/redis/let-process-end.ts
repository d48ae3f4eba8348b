import type { Socket } from 'node:net';
import type { Cluster, Redis } from 'ioredis';

/** What a client of one server and a Cluster have of these. */
interface Handles {
  readonly stream?: Socket;
  readonly reconnectTimeout?: NodeJS.Timeout | null;
}

/**
 * Lets the process end while a client is connected or tries to connect: an application that fails to start closes
 * nothing. Commands and waiters that are pending keep the process running, and so does `LockService.keepProcess` after
 * the start.
 */
export function letProcessEnd<Client extends Redis | Cluster>(client: Client): Client {
  const handles = client as unknown as Handles;
  const release = (): void => {
    handles.stream?.unref();
    handles.reconnectTimeout?.unref();
  };
  release();
  (client as Redis).on('connect', release);
  (client as Redis).on('reconnecting', release);
  return client;
}
