import type { Redis, RedisOptions } from 'ioredis';
import type { LockConnectionOption } from '../../module/redis-lock.connection.js';
import type { ClusterAddress } from '../../store/redis/cluster-connection.js';

/** Where Redis is, as it is written on a command line: a URL, or what the module takes as JSON. */
export type WrittenConnection = string | RedisOptions | ClusterAddress;

/** A server that has locks. */
export interface Server {
  readonly client: Redis;
  /** An address alone; what else its options tell may be secret. */
  readonly address: string;
  /** Whether a name is in one of its slots; in no Cluster every name is. */
  serves(name: string): boolean;
}

/** What a command line names. */
export interface Deployment {
  /** One server is one behind Sentinels, too. */
  readonly kind: 'one server' | 'redlock' | 'cluster';
  /** For the module; closed by `close()`. */
  readonly connection: LockConnectionOption;
  /** By now; of a Cluster its masters. */
  servers(): readonly Server[];
  /** @throws Error, which names an address and nothing secret, when too few servers can be reached */
  connect(): Promise<void>;
  close(): void;
}
