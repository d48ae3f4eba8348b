import type { Redis, RedisOptions } from 'ioredis';
import type { LockConnectionOption } from '../../module/redis-lock.connection.js';
import type { ClusterAddress } from '../../store/redis/passed-client.js';

/** The address of Redis as written on a command line: a URL, or the module's connection as JSON. */
export type WrittenConnection = string | RedisOptions | ClusterAddress;

/** A server that keeps locks. */
export interface Server {
  readonly client: Redis;
  /** Only the address: other options may be secret. */
  readonly address: string;
  /** Whether the server serves the slot of a name. Outside of a Cluster it serves every name. */
  serves(name: string): boolean;
}

/** The servers that a command line names. */
export interface Deployment {
  /** A server behind Sentinels is also one server. */
  readonly kind: 'one server' | 'redlock' | 'cluster';
  /** The module's option `connection`. `close()` closes it. */
  readonly connection: LockConnectionOption;
  /** The current servers. Of a Cluster, the masters. */
  servers(): readonly Server[];
  /** @throws Error if too few servers can be reached. The message names addresses and no secrets. */
  connect(): Promise<void>;
  close(): void;
}
