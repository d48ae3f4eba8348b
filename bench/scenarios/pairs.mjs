import { setTimeout as sleep } from 'node:timers/promises';
import { client } from '../harness/own-client.mjs';
import { Histogram } from '../harness/statistics.mjs';
import { now } from '../harness/shared-state.mjs';

const PROCESSES = 4;
const CALLERS = 16;
const SECTION_MS = 2;
const KEYS = [5, 50];
/** How often the state of all keys is read from the server, in ms. */
const SAMPLED_EVERY = 2;

const MODULE = import.meta.url;
const nameOf = (key) => `pair:${key}`;

export default {
  name: 'pairs',
  title: 'Two keys for each call, 4 processes × 16 callers',
  about:
    `Each caller asks for two keys at random, all the time, and works for ${SECTION_MS} ms. A key is idle from the end of a ` +
    'section, or from the moment a caller asks for it, until the next section with it begins. Most of that time a caller ' +
    `holds it and waits for its second key. A key is free if callers wait for it and none holds it, by samples of Redis every ${SAMPLED_EVERY} ms.`,
  columns: [
    { key: 'throughput', title: 'sections/s', digits: 0 },
    { key: 'p50', title: 'wait p50 ms', digits: 1 },
    { key: 'longest', title: 'longest wait ms', digits: 0 },
    { key: 'idleP50', title: 'wanted and idle p50 ms', digits: 1 },
    { key: 'idleP99', title: 'wanted and idle p99 ms', digits: 0 },
    { key: 'idle', title: 'longest wanted and idle ms', digits: 0 },
    { key: 'free', title: 'longest wanted and free ms', digits: 0 },
    { key: 'overlaps', title: 'overlaps', digits: 0 },
  ],
  charts: [],
  includes: ({ library, variant }) => library === 'ours' && variant === 'defaults',
  expand: (variants) =>
    variants.flatMap((variant) => KEYS.map((keys) => ({ ...variant, label: `two of ${keys} keys`, keys }))),

  async measure({ threads, server, target }, { keys }, { warmUp, window }) {
    await server.clear();
    const crew = await threads.take(PROCESSES, 'ours');
    const everywhere = (name, terms) => Promise.all(crew.map((thread) => thread.call('work', MODULE, name, terms)));
    const state = new State(new SharedArrayBuffer(State.bytes(keys)));
    await everywhere('open', { target });
    try {
      const from = now() + warmUp;
      const end = from + window;
      const contending = everywhere('contend', { keys, buffer: state.buffer, from, end });
      const free = await longestFree(target, { keys, from, end });
      const parts = await contending;
      const waits = Histogram.merged(parts.map((part) => part.waits));
      const idle = Histogram.merged(parts.map((part) => part.idle));
      return {
        throughput: (waits.count / window) * 1_000,
        ...{ p50: waits.quantile(0.5), longest: waits.max },
        ...{ idleP50: idle.quantile(0.5), idleP99: idle.quantile(0.99), idle: idle.max },
        ...{ free, overlaps: parts.reduce((sum, part) => sum + part.overlaps, 0) },
      };
    } finally {
      await everywhere('close', {});
    }
  },
};

/** For how long callers have waited at most for a key that no client held. */
async function longestFree({ host, port }, { keys, from, end }) {
  const { Redis } = await import('ioredis');
  const redis = new Redis({ host, port });
  const since = new Float64Array(keys).fill(NaN);
  let longest = 0;
  try {
    while (now() < end) {
      const commands = redis.pipeline();
      for (let key = 0; key < keys; key++) {
        commands.exists(`lock:state:{${nameOf(key)}}`).zcard(`lock:queue:{${nameOf(key)}}`);
      }
      const replies = (await commands.exec()).map(([, reply]) => reply);
      const at = now();
      for (let key = 0; key < keys; key++) {
        const isFree = replies[2 * key] === 0 && replies[2 * key + 1] > 0;
        if (!isFree || at < from) since[key] = NaN;
        else if (Number.isNaN(since[key])) since[key] = at;
        if (isFree && at >= from) longest = Math.max(longest, at - since[key]);
      }
      await sleep(SAMPLED_EVERY);
    }
  } finally {
    redis.disconnect();
  }
  return longest;
}

/** Of each key: how many callers want it, how many are in a section with it, and since when it is wanted and idle. */
class State {
  static bytes = (keys) => keys * 16;

  constructor(buffer) {
    this.buffer = buffer;
    const keys = buffer.byteLength / 16;
    this.idleSince = new Float64Array(buffer, 0, keys);
    this.wanted = new Int32Array(buffer, keys * 8, keys);
    this.inside = new Int32Array(buffer, keys * 12, keys);
  }

  want(key) {
    if (Atomics.add(this.wanted, key, 1) === 0 && Atomics.load(this.inside, key) === 0) this.idleSince[key] = now();
  }

  /** Returns for how long the key was idle, and whether another caller is in a section with it. */
  enter(key) {
    Atomics.sub(this.wanted, key, 1);
    return { idle: now() - this.idleSince[key], overlaps: Atomics.add(this.inside, key, 1) > 0 };
  }

  leave(key) {
    this.idleSince[key] = now();
    Atomics.sub(this.inside, key, 1);
  }
}

// In a thread.

export { close, open } from '../harness/own-client.mjs';

/** Callers that want two keys at a time, until `end`. What begins between `from` and `end` counts. */
export async function contend({ keys, buffer, from, end }) {
  const state = new State(buffer);
  const waits = new Histogram();
  const idle = new Histogram();
  let overlaps = 0;
  const random = (n) => Math.floor(Math.random() * n);
  const caller = async () => {
    while (now() < end) {
      const first = random(keys);
      const pair = [first, (first + 1 + random(keys - 1)) % keys];
      const asked = now();
      for (const key of pair) state.want(key);
      const handle = await client.locks.acquire(pair.map(nameOf), { waitTimeout: Infinity });
      const entered = pair.map((key) => state.enter(key));
      overlaps += entered.filter((each) => each.overlaps).length;
      if (asked >= from) waits.add(now() - asked);
      if (asked >= from) for (const each of entered) idle.add(each.idle);
      await sleep(SECTION_MS);
      for (const key of pair) state.leave(key);
      await client.release(handle);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return { waits, idle, overlaps };
}
