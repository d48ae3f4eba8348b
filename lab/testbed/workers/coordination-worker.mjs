// A process with one lock service of the built library, for its latches and its elections.
import { createLockService } from '../../../dist/esm/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../../dist/esm/module/redis-lock.options.js';
import { now } from '../history/clock.mjs';
import { serve, tell } from './worker-kit.mjs';

const silent = { debug() {}, log() {}, warn() {}, error() {} };
/** A candidate looks whether it leads this often, in ms. */
const LOOK = 3;

let service;
let election;
const terms = [];

serve({
  async start(options) {
    service = createLockService(resolveModuleOptions({ shutdownTimeout: 0, ...options }), silent);
    await service.start();
  },

  /** How so many waits ended. */
  awaitLatch(key, waiters) {
    const latch = service.getCountDownLatch(key);
    return Promise.all(Array.from({ length: waiters }, () => latch.await({ waitTimeout: Infinity })));
  },

  countDown(key, times) {
    const latch = service.getCountDownLatch(key);
    return Promise.all(Array.from({ length: times }, () => latch.countDown()));
  },

  /** Stands for election, reports the outcome, and records from when to when it was certainly the leader. */
  stand(key) {
    let term;
    election = service.getLeaderElection(key, {
      onElected(handle) {
        const at = now();
        if (!election.isLeader) return;
        term = { key, who: String(process.pid), token: handle.fencingToken, from: at, to: at };
        terms.push(term);
        tell('elected', { at, token: handle.fencingToken });
      },
      onDeposed(error) {
        term = undefined;
        tell('deposed', { at: now(), code: error?.code });
      },
    });
    setInterval(() => {
      // The time before the look: its result was true from then on.
      const at = now();
      if (term !== undefined && election.isLeader) term.to = at;
    }, LOOK).unref();
    election.start();
  },

  look: () => ({ isLeader: election.isLeader, token: election.fencingToken }),
  terms: () => terms,
  resign: () => election.resign(),
  stop: () => election.stop(),
  stopWaiting: () => service.stopWaiting(),
  close: () => service.close(),

  /** Does not come back to its event loop for so many milliseconds; answers whether it leads on the next line. */
  stall(ms) {
    const led = election.isLeader;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    return { led, leads: election.isLeader };
  },
});
