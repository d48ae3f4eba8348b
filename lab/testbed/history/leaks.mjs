// @ts-check
import { Cluster } from 'ioredis';

/** The parts of a lock that no client holds or awaits: none of these may remain in Redis. */
const TRANSIENT = /^lock:(state|queue|waiters):/;

/**
 * Records of clients, last fencing tokens, notes of acquisitions that left before their request arrived, and of latches that have been
 * counted down: they stay for a limited time, and expire by themselves.
 */
export const EXPIRES = /^[^{]*:(fence|ends|tombstones|counted|client):/;

/**
 * Every key that matches, with its TTL in ms (-1: none).
 * @param {import('ioredis').Redis | Cluster} client
 * @param {string} [match]
 */
export async function keysWithTtl(client, match) {
  const names = await namesIn(client, match);
  const keys = await Promise.all(names.map(async (key) => ({ key, ttl: await client.pttl(key) })));
  // -2: it has ended between the two commands.
  return keys.filter(({ ttl }) => ttl !== -2);
}

/**
 * Fails when locks, tickets or waiters are left.
 * @param {import('ioredis').Redis | Cluster} client
 */
export async function expectNothingLeft(client) {
  const left = (await namesIn(client, 'lock:*')).filter((name) => TRANSIENT.test(name));
  if (left.length > 0) throw new Error(`left in Redis: ${left.sort().join(', ')}`);
}

/**
 * Fails when a key of the library would stay forever.
 * @param {import('ioredis').Redis | Cluster} client
 */
export async function expectAllKeysHaveTtl(client) {
  const eternal = (await keysWithTtl(client, 'lock:*')).filter(({ ttl }) => ttl === -1).map(({ key }) => key);
  if (eternal.length > 0) throw new Error(`without a TTL: ${eternal.sort().join(', ')}`);
}

/** @param {import('ioredis').Redis | Cluster} client @param {string} [match] */
async function namesIn(client, match = '*') {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  /** @type {Set<string>} */
  const names = new Set();
  const scan = async (/** @type {import('ioredis').Redis} */ node) => {
    for await (const batch of node.scanStream({ match, count: 1_000 })) for (const name of batch) names.add(name);
  };
  await Promise.all(nodes.map(scan));
  return [...names];
}
