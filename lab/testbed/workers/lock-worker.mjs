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
/** The election in which this process stands, and from when to when it was certainly the leader. */
let election;
const terms = [];
/** A candidate looks whether it leads this often, in ms. */
const LOOK = 3;

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

  /** How so many waits for a latch ended. */
  awaitLatch(key, waiters) {
    const latch = services[0].getCountDownLatch(key);
    return Promise.all(Array.from({ length: waiters }, () => latch.await({ waitTimeout: Infinity })));
  },

  countDown(key, times) {
    const latch = services[0].getCountDownLatch(key);
    return Promise.all(Array.from({ length: times }, () => latch.countDown()));
  },

  /** Stands for election, and records its terms. */
  stand(key) {
    let term;
    election = services[0].getLeaderElection(key, {
      onElected(handle) {
        const at = now();
        if (!election.isLeader) return;
        term = { key, who: String(process.pid), token: handle.fencingToken, from: at, to: at };
        terms.push(term);
      },
      onDeposed() {
        term = undefined;
      },
    });
    setInterval(() => {
      // The time before the look: its result was true from then on.
      const at = now();
      if (term !== undefined && election.isLeader) term.to = at;
    }, LOOK).unref();
    election.start();
  },

  terms: () => terms,
  resign: () => election.resign(),
  stop: () => election.stop(),

  /** Does not come back to its event loop for so many milliseconds. */
  stall: (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),

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
