import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Cluster, Redis } from 'ioredis';
import { now } from '../history/clock.mjs';
import { started } from '../wait/started.mjs';
import { serve, tell } from './worker-kit.mjs';

/** The warnings of the services. */
const warnings = [];
const logger = { debug() {}, log() {}, error() {}, warn: (text) => void warnings.push(text) };

/** The lock services of this process; most tests need one. */
const services = [];
/** Its handles, by number. */
const handles = [];
let counters;

/** A handle does not pass between processes: a number stands for it. */
function keep(handle) {
  if (handle === null) return null;
  const at = now();
  const number = handles.push(handle) - 1;
  handle.signal.addEventListener('abort', () => tell('lost', { number, key: handle.key, at: now() }));
  // Redisson's locks have none, and the getter would throw.
  const token = handle.fencingTokens.size > 0 ? handle.fencingToken : undefined;
  return { number, at, owner: handle.owner, token };
}

/**
 * Reads, gives every other caller that can enter the time to do so, and writes: a caller that is not alone destroys the
 * writes of others.
 */
async function increment(counter) {
  const value = Number(await counters.get(counter));
  await new Promise((resolve) => setImmediate(resolve));
  await counters.set(counter, value + 1, 'PX', 60_000);
}

serve({
  ping: () => 'pong',

  /**
   * Starts so many lock services of the built library. `protocol` is the name of one, as functions do not pass between
   * processes, and `redisson` has the options of that one.
   */
  async start({ protocol, redisson: terms, ...options }, count = 1) {
    const { createLockService } = await import('../../../dist/esm/module/redis-lock.composition.js');
    const { resolveModuleOptions } = await import('../../../dist/esm/module/redis-lock.options.js');
    const { redisson } = await import('../../../dist/esm/redisson/index.js');
    const given = { shutdownTimeout: 0, ...options, ...(protocol === 'redisson' && { protocol: redisson(terms) }) };
    const make = () => createLockService(resolveModuleOptions(given), logger);
    services.push(...Array.from({ length: count }, make));
    await Promise.all(services.map(started));
    const { cluster } = options.connection;
    counters = cluster === undefined ? new Redis(options.connection) : new Cluster(cluster);
    counters.on('error', () => {});
  },

  async acquire(key, options) {
    return keep(await services[0].acquire(key, options));
  },

  /** Acquires a key, and drops the handle. */
  async forget(key, options) {
    await services[0].acquire(key, options);
  },

  /** Collects the garbage of this process: a small one, which that does not stall as it does the test's. */
  collectGarbage() {
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
  },

  warnings: () => warnings,

  async tryAcquire(key, options) {
    return keep(await services[0].tryAcquire(key, options));
  },

  /** Each service asks for the key, and tells which of them has got it. */
  acquireEach(key, options) {
    services.forEach(async (service) => tell('acquired', keep(await service.acquire(key, options))));
  },

  release(number) {
    return handles[number].release();
  },

  look(number) {
    const { isHeld, holdCount, signal } = handles[number];
    return { isHeld, holdCount, aborted: signal.aborted };
  },

  /**
   * So many waiters pass through so many critical sections each, and count them where nothing but the lock protects
   * the number. Gives each one's beginning and end.
   */
  async sections({ key, waiters = 1, times, counter, options }) {
    const who = String(process.pid);
    const holds = [];
    const waiter = async () => {
      for (let i = 0; i < times; i++) {
        const handle = await services[0].acquire(key, { waitTimeout: Infinity, ...options });
        const from = now();
        if (counter !== undefined) await increment(counter);
        holds.push({ key, who, token: handle.fencingToken, from, to: now() });
        await handle.release();
      }
    };
    await Promise.all(Array.from({ length: waiters }, waiter));
    return holds;
  },
});
