// @ts-check
import { Cluster } from 'ioredis';

/**
 * Records of clients, last fencing tokens, tombstones, and calls that have counted a latch down: they stay
 * for a limited time, and expire by themselves.
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
 * Fails when a key of the library is left that does not expire by itself, or a tombstone that stays too long.
 * @param {import('ioredis').Redis | Cluster} client
 * @param {number} [longestTombstone] ms
 */
export async function expectNothingLeft(client, longestTombstone = Infinity) {
  const keys = await keysWithTtl(client, '*lock:*');
  const left = keys.filter(({ key, ttl }) => !EXPIRES.test(key) || (isTombstone(key) && ttl > longestTombstone));
  if (left.length > 0)
    throw new Error(
      `left in Redis: ${left
        .map(({ key }) => key)
        .sort()
        .join(', ')}`,
    );
}

/** @param {string} key */
const isTombstone = (key) => key.includes(':tombstones:');

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
