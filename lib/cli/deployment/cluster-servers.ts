import { Cluster, type Redis } from 'ioredis';
import { hashSlot } from '../../keys/index.js';
import type { ClusterAddress } from '../../store/redis/passed-client.js';
import { guardCredentials } from '../../store/redis/credentials.js';
import { clientOptions, connectWithin, retryDelay, type Deployment, type Server } from './deployment.js';

/** The masters of a Redis Cluster. */
export class ClusterServers implements Deployment {
  readonly kind = 'cluster';
  readonly connection: Cluster;

  constructor(
    { cluster, options = {} }: ClusterAddress,
    private readonly timeout: number,
  ) {
    guardCredentials(this, [...cluster, options]);
    this.connection = new Cluster([...cluster], {
      clusterRetryStrategy: retryDelay,
      slotsRefreshTimeout: timeout,
      // A Cluster that has lost some of its slots is worth looking at.
      enableReadyCheck: false,
      ...options,
      keyPrefix: '',
      redisOptions: { ...clientOptions(timeout), ...options.redisOptions, keyPrefix: '' },
      lazyConnect: true,
    });
    // The failed command reports the error.
    this.connection.on('error', () => undefined);
  }

  /**
   * The masters that serve slots. ioredis drops a master that cannot be reached until the next refresh of the slots.
   */
  servers(): Server[] {
    const { slots } = this.connection;
    const owners = new Set(slots.map((nodes) => nodes?.[0]));
    const servers = this.connection.nodes('master').map((client) => {
      const address = addressOf(client);
      return { client, address, serves: (name: string) => slots[hashSlot(name)]?.[0] === address };
    });
    return servers.filter(({ address }) => owners.has(address)).sort((a, b) => (a.address < b.address ? -1 : 1));
  }

  connect(): Promise<void> {
    const client = this.connection;
    return connectWithin(this.timeout, { client, name: 'the Cluster', connect: () => client.connect() });
  }

  close(): void {
    this.connection.disconnect();
  }
}

const addressOf = ({ options }: Redis): string => `${options.host}:${options.port}`;
