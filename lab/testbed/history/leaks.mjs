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
 * Fails when a key of the library is left that does not expire by itself.
 * @param {import('ioredis').Redis | Cluster} client
 */
export async function expectNothingLeft(client) {
  expectNone('left in Redis', await keysWithTtl(client, '*lock:*'), ({ key }) => !EXPIRES.test(key));
}

/**
 * Fails when a tombstone stays for longer than `longest` ms.
 * @param {import('ioredis').Redis | Cluster} client
 * @param {number} longest
 */
export async function expectShortTombstones(client, longest) {
  const tombstones = await keysWithTtl(client, '*lock:tombstones:*');
  expectNone(`stays for longer than ${longest} ms`, tombstones, ({ ttl }) => ttl > longest);
}

/**
 * Fails when a key of the library would stay forever.
 * @param {import('ioredis').Redis | Cluster} client
 */
export async function expectAllKeysHaveTtl(client) {
  expectNone('without a TTL', await keysWithTtl(client, 'lock:*'), ({ ttl }) => ttl === -1);
}

/**
 * @typedef {{ readonly key: string, readonly ttl: number }} KeyWithTtl
 * @param {string} what
 * @param {readonly KeyWithTtl[]} keys
 * @param {(key: KeyWithTtl) => boolean} isWrong
 */
function expectNone(what, keys, isWrong) {
  const wrong = keys.filter(isWrong).map(({ key }) => key);
  if (wrong.length > 0) throw new Error(`${what}: ${wrong.sort().join(', ')}`);
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
