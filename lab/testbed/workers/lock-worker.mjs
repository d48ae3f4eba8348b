import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Cluster, Redis } from 'ioredis';
import { nextResume } from '../clocks/suspended-clock.mjs';
import { now } from '../history/clock.mjs';
import { started } from '../wait/started.mjs';
import { serve, tell } from './worker-kit.mjs';

/** The log of the services, as `level text`. */
const lines = [];
const say = (level) => (text) => void lines.push(`${level} ${text}`);
const logger = { debug: say('debug'), log: say('log'), warn: say('warn'), error: say('error') };
/** The errors that would have ended this process. */
const escaped = [];

/** The lock services of this process; most tests need one. */
const services = [];
/** Its handles, by number. */
const handles = [];
/** A client of the counters, and where it connects. */
let counters;
let connection;
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

/** The view that a holder has of its lock, on one line. `assertHeld`: the code of the error that it throws. */
const viewOf = (handle) => ({
  isHeld: handle.isHeld,
  assertHeld: thrownBy(() => handle.assertHeld()),
  aborted: handle.signal.aborted,
  remaining: handle.remainingTime(),
  holdCount: handle.holdCount,
});

function thrownBy(work) {
  try {
    work();
    return undefined;
  } catch (error) {
    return Object(error).code ?? String(error);
  }
}

/**
 * Busy until `lease` ms after `start` at least, and until the process has been stopped and continued; `false` when that
 * does not happen within `limit` ms.
 */
function spinUntilStopped(start, lease, limit) {
  let longestGap = 0;
  for (let last = start; last - start < limit;) {
    const at = performance.now();
    longestGap = Math.max(longestGap, at - last);
    if (at - start >= lease && longestGap >= 100) return true;
    last = at;
  }
  return false;
}

function openCounters() {
  const { cluster } = connection;
  const client = cluster === undefined ? new Redis(connection) : new Cluster(cluster);
  return client.on('error', () => {});
}

/**
 * Reads, gives every other caller that can enter the time to do so, and writes: a caller that is not alone destroys the
 * writes of others.
 */
async function increment(counter) {
  counters ??= openCounters();
  const value = Number(await counters.get(counter));
  await new Promise((resolve) => setImmediate(resolve));
  await counters.set(counter, value + 1, 'PX', 60_000);
}

serve({
  ping: () => 'pong',

  /**
   * Starts so many lock services of the built library. `protocol` is the name of one, as functions do not pass between
   * processes, and `redisson` has the options of that one. `catchesErrors`: an error that escapes does not end this process.
   */
  async start({ protocol, redisson: terms, ...options }, { services: count = 1, catchesErrors = false } = {}) {
    if (catchesErrors) {
      process.on('unhandledRejection', (reason) => escaped.push(`unhandled rejection: ${String(reason)}`));
      process.on('uncaughtException', (error) => escaped.push(`uncaught exception: ${String(error)}`));
    }
    const { createLockService } = await import('../../../dist/esm/module/redis-lock.composition.js');
    const { resolveModuleOptions } = await import('../../../dist/esm/module/redis-lock.options.js');
    const { redisson } = await import('../../../dist/esm/redisson/index.js');
    const given = { shutdownTimeout: 0, ...options, ...(protocol === 'redisson' && { protocol: redisson(terms) }) };
    const make = () => createLockService(resolveModuleOptions(given), logger);
    services.push(...Array.from({ length: count }, make));
    await Promise.all(services.map(started));
    ({ connection } = options);
  },

  lines: () => lines,
  escaped: () => escaped,
  close: () => Promise.all(services.map((service) => service.close())).then(() => undefined),

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

  verify: (number) => handles[number].verify(),
  look: (number) => viewOf(handles[number]),

  /** Looks on the first line after the next resume of a suspended machine, before the event loop has done anything. */
  async lookAfterResume(number) {
    // The time before the message: a reader of the message may suspend and resume this process before it gets any further.
    const waitForResume = nextResume();
    await tell('ready to be suspended');
    waitForResume();
    return viewOf(handles[number]);
  },

  /** Looks when it has been busy for longer than a lease, and was stopped meanwhile. */
  async lookAfterStop(number, lease, limit) {
    // The time before the message: a reader of the message may stop this process before it gets any further.
    const start = performance.now();
    await tell('spinning');
    const stopped = spinUntilStopped(start, lease, limit);
    return { stopped, ...viewOf(handles[number]) };
  },

  /** Holds keys with listeners that throw when a lock is lost, or, if `isAsync`, reject. */
  async holdCarelessly(keys, isAsync) {
    const fail = (text) => {
      throw new Error(text);
    };
    const onLost = isAsync ? async () => fail('asynchronous onLost rejects') : () => fail('onLost throws');
    for (const key of keys) keep(await services[0].acquire(key, { onLost }));
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
