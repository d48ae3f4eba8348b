import { Cluster, type Redis } from 'ioredis';

/**
 * The parts of a lock that no client holds or awaits: none of these may remain in Redis. Fences stay for a limited
 * time.
 */
const TRANSIENT = ['state', 'queue', 'waiters'];

/** Fails when locks, tickets or waiters are left. */
export async function expectNothingLeft(client: Redis | Cluster, prefix = 'lock'): Promise<void> {
  const left = await keysOf(
    client,
    TRANSIENT.map((role) => `${prefix}:${role}:*`),
  );
  if (left.length > 0) throw new Error(`left in Redis: ${left.sort().join(', ')}`);
}

/** Fails when a key of the library would stay forever. */
export async function expectAllKeysHaveTtl(client: Redis | Cluster, prefix = 'lock'): Promise<void> {
  const keys = await keysOf(client, [`${prefix}:*`]);
  const ttls = await Promise.all(keys.map(async (key) => ({ key, ttl: await client.pttl(key) })));
  const eternal = ttls.filter(({ ttl }) => ttl === -1).map(({ key }) => key);
  if (eternal.length > 0) throw new Error(`without a TTL: ${eternal.sort().join(', ')}`);
}

async function keysOf(client: Redis | Cluster, patterns: readonly string[]): Promise<string[]> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const lists = nodes.flatMap((node) => patterns.map((pattern) => scan(node, pattern)));
  return (await Promise.all(lists)).flat();
}

async function scan(node: Redis, pattern: string): Promise<string[]> {
  const keys = new Set<string>();
  for await (const batch of node.scanStream({ match: pattern, count: 1000 })) {
    for (const key of batch as string[]) keys.add(key);
  }
  return [...keys];
}
