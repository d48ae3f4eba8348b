// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @typedef {import('../../../lib/service/lock.service.js').LockService} LockService
 * @typedef {import('../../../lib/service/handles/lock-handle.js').LockHandle} LockHandle
 * @typedef {import('../history/history.js').ValidHold} ValidHold
 *
 * @typedef {object} RandomSections
 * @property {string} who
 * @property {number} seed
 * @property {readonly string[]} keys
 * @property {number} loops how many run at the same time
 *
 * @typedef {object} SectionsReport The results so far
 * @property {ValidHold[]} holds stretches in which `isHeld` was seen to be true, from the first to the last time
 * @property {Record<string, number>} outcomes how acquisitions ended: `held`, `null`, `aborted`, or the code of the error
 * @property {number} pending acquisitions without an outcome
 * @property {string[]} late outcomes that came later than the wait and a few round trips allow, the process itself having
 *   run all the time
 * @property {string[]} surprises unexpected outcomes
 */

/** How long an outcome may take beyond `waitTimeout`: some commands that time out, and a busy machine. */
const SLACK = 4_000;
/** A section looks at its lock this often. */
const LOOK = 4;

/**
 * Mulberry32: small, and good enough to choose the next action.
 * @param {number} seed
 */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Locks random keys in random ways, and records when which hold was valid. A hold has no gaps: between two looks that
 * returned `true` it was valid all the time, so the period from the first to the last such look is certain.
 * @param {Pick<LockService, 'acquire' | 'tryAcquire' | 'run'>} service
 * @param {RandomSections} options
 */
export function startRandomSections(service, { who, seed, keys, loops }) {
  /** @type {Array<ValidHold & { to: bigint }>} */
  const holds = [];
  /** @type {Record<string, number>} */
  const outcomes = {};
  /** @type {string[]} */
  const late = [];
  /** @type {string[]} */
  const surprises = [];
  let pending = 0;
  let stopped = false;
  let stalls = 0;

  // A process that is stopped or blocked may be late.
  let lastTick = performance.now();
  const ticking = setInterval(() => {
    if (performance.now() - lastTick > 300) stalls += 1;
    lastTick = performance.now();
  }, 50);
  ticking.unref();

  /** @param {string} outcome */
  const count = (outcome) => (outcomes[outcome] = (outcomes[outcome] ?? 0) + 1);

  /**
   * Holds the lock for `length` ms, looking at it all the time.
   * @param {LockHandle} handle
   * @param {number} length
   * @param {() => number} next
   */
  async function hold(handle, length, next) {
    const { key, fencingToken: token } = handle;
    const name = `${who} ${handle.owner}`;
    const from = process.hrtime.bigint();
    if (!handle.isHeld) return;
    const record = { key, who: name, token, from, to: from };
    holds.push(record);
    const end = performance.now() + length;
    let asked = false;
    while (performance.now() < end) {
      await sleep(Math.min(LOOK, Math.max(0, end - performance.now())));
      // The time before the look: its result is true from here on at the earliest.
      const at = process.hrtime.bigint();
      if (!handle.isHeld) {
        if (!handle.signal.aborted) surprises.push(`${name}: not held, and the signal says nothing`);
        return;
      }
      record.to = at;
      if (!asked && next() < 0.05) {
        asked = true;
        const ask = next() < 0.5 ? handle.verify() : handle.extend(Math.round(150 + next() * 500));
        await ask.catch((error) => expected(error, ['LOCK_LOST', 'LOCK_STORE']));
      }
    }
    const at = process.hrtime.bigint();
    if (handle.isHeld) record.to = at;
  }

  /**
   * @param {any} error
   * @param {unknown[]} codes
   */
  function expected(error, codes) {
    const code = error?.code ?? error?.name;
    if (!codes.includes(code)) surprises.push(`${who}: ${error?.stack ?? error}`);
    return code;
  }

  /** @param {() => number} next */
  async function once(next) {
    const key = /** @type {string} */ (keys[Math.floor(next() * keys.length)]);
    const length = next() < 0.8 ? next() * 40 : next() * 600;
    const options = /** @type {{ waitTimeout: number } & import('../../../lib/index.js').AcquireOptions} */ ({
      waitTimeout: next() < 0.15 ? 0 : Math.round(next() * 3_000),
      expire: next() < 0.6 ? 0 : Math.round(100 + next() * 500),
    });
    if (next() < 0.1) options.holdAtLeast = Math.round(next() * 80);
    if (next() < 0.15) options.owner = `${who}/${seed}/${Math.floor(next() * 1e9)}`;
    if (next() < 0.15) options.signal = AbortSignal.timeout(Math.round(next() * 800));
    const [since, stallsBefore] = [performance.now(), stalls];
    pending += 1;
    /** @type {string | undefined} */
    let outcome;
    let settled = () => {
      settled = () => undefined;
      pending -= 1;
      const took = performance.now() - since;
      const limit = options.waitTimeout + SLACK;
      if (took > limit && stalls === stallsBefore) late.push(`${who} ${key}: ${Math.round(took)} ms of ${limit}`);
    };
    try {
      if (next() < 0.3) {
        await service.run(
          key,
          async (handle) => {
            settled();
            outcome = 'held';
            await hold(handle, length, next);
          },
          options,
        );
      } else {
        const handle = await service.tryAcquire(key, options);
        settled();
        outcome = handle === null ? 'null' : 'held';
        if (handle !== null) {
          await hold(handle, length, next);
          await handle.release().catch((error) => expected(error, ['LOCK_STORE']));
        }
      }
    } catch (error) {
      settled();
      const code = expected(error, ['LOCK_TIMEOUT', 'LOCK_STORE', 'LOCK_LOST', 'TimeoutError', 'AbortError', 23]);
      outcome ??= options.signal?.aborted && error === options.signal.reason ? 'aborted' : code;
    }
    count(String(outcome));
  }

  const running = Array.from({ length: loops }, async (_, loop) => {
    const next = random(seed * 1_000 + loop);
    while (!stopped) {
      await once(next);
      if (next() < 0.3) await sleep(next() * 30);
    }
  });

  return {
    async stop() {
      stopped = true;
      await Promise.all(running);
      clearInterval(ticking);
    },
    /** @returns {SectionsReport} */
    report: () => ({
      holds: holds.map((record) => ({ ...record })),
      outcomes: { ...outcomes },
      pending,
      late,
      surprises,
    }),
  };
}
