import { Cluster, type Redis } from 'ioredis';
import { hashSlot } from '../../keys/index.js';
import type { ClusterAddress } from '../../store/redis/passed-client.js';
import { guardCredentials } from '../../store/redis/credentials.js';
import { clientOptions, connectWithin, retryDelay, type Deployment } from './deployment.js';

/** The masters of a Redis Cluster. */
export function clusterServers({ cluster, options = {} }: ClusterAddress, timeout: number): Deployment {
  const client = new Cluster([...cluster], {
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
  client.on('error', () => undefined);
  const deployment: Deployment = {
    kind: 'cluster',
    connection: client,
    // The masters that serve slots. ioredis drops a master that cannot be reached until the next refresh of the slots.
    servers() {
      const { slots } = client;
      const owners = new Set(slots.map((nodes) => nodes?.[0]));
      const servers = client.nodes('master').map((master) => {
        const address = addressOf(master);
        return { client: master, address, serves: (name: string) => slots[hashSlot(name)]?.[0] === address };
      });
      return servers.filter(({ address }) => owners.has(address)).sort((a, b) => (a.address < b.address ? -1 : 1));
    },
    connect: () => connectWithin(timeout, { client, name: 'the Cluster', connect: () => client.connect() }),
    close: () => client.disconnect(),
  };
  guardCredentials(deployment, [...cluster, options]);
  return deployment;
}

const addressOf = ({ options }: Redis): string => `${options.host}:${options.port}`;
