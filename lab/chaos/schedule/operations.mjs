import { Random } from './random.mjs';

/**
 * @typedef {object} OperationScope
 * @property {number} seed
 * @property {string} client
 * @property {number} loop
 * @property {readonly string[]} keys
 * @property {readonly string[] | Readonly<Record<string, readonly string[]>>} kinds for all keys, or for each key: where
 *   objects of two kinds cannot share a key, with the options that all protocols have
 * @property {string} [holders] only callers of this sort
 *
 * @typedef {{ readonly kind: string, readonly mode: string, readonly step?: { readonly does: string } }} PlannedOperation
 */

/** As many permits has every key, in all processes. */
const PERMITS = 3;

/** In a crowd, hundreds hold permits of one key at the same time. */
const PERMITS_OF_CROWD = 400;

export const permitsOf = (holders) => (holders === 'crowd' ? PERMITS_OF_CROWD : PERMITS);

/** How many callers each client has. */
export const callersOf = (holders) => (holders === 'crowd' ? 250 : 3);

/**
 * The endless sequence of requests of a client's caller number `loop`: decided by the seed alone. `kinds` are the kinds
 * of locks that the topology has; `holders`: which callers there are, by default of all sorts.
 * @param {OperationScope} scope
 * @returns {Generator<PlannedOperation, never>}
 */
export function* planOperations({ seed, client, loop, keys, kinds, holders }) {
  const random = new Random(seed, `${client}/${loop}`);
  for (;;) {
    const key = random.among(keys);
    if (holders !== undefined) {
      yield { kind: 'exclusive', pause: 0, ...of(key), ...HOLDERS[holders](random, keys.indexOf(key), keys) };
      continue;
    }
    const isPerKey = !Array.isArray(kinds);
    const kind = isPerKey
      ? random.among(kinds[key])
      : random.chance(0.5)
        ? random.among(kinds)
        : favouriteOf(key, { keys, kinds });
    yield {
      kind,
      pause: random.chance(0.3) ? random.between(1, 40) : 0,
      ...KINDS[kind](random, key, keys),
      ...terms(random),
      ...(kind === 'replicated' && replication(random)),
      ...(isPerKey && { holdAtLeast: 0 }),
    };
  }
}

/**
 * Asks for a key once all faults are over, for `wait` ms: again if Redis gave no answer in time, which also happens on a machine
 * that is merely busy. `perform` answers with the code of an acquisition that failed.
 */
export async function performLast(key, kinds, wait, perform) {
  const kind = Array.isArray(kinds) || kinds[key].includes('exclusive') ? 'exclusive' : 'write';
  const through = kind === 'write' ? 'run' : 'acquire';
  const request = { kind, ...of(key), through, expire: 0, length: 0, final: true };
  const until = performance.now() + wait;
  let failed;
  do {
    failed = await perform({ ...request, wait: Math.max(0, Math.ceil(until - performance.now())) });
  } while (failed === 'LOCK_STORE' && performance.now() < until);
}

/** Each key is wanted in one way more than in others, or readers and permits would seldom meet their like. */
function favouriteOf(key, { keys, kinds }) {
  const favourites = ['replicated', 'exclusive', 'read', 'permits'].filter((kind) => kinds.includes(kind));
  return favourites[keys.indexOf(key) % favourites.length];
}

/** The properties of each kind of lock, and the calls of the library that take it. */
const KINDS = {
  exclusive: (random, key) => ({
    ...of(key),
    through: random.among(['acquire', 'tryAcquire', 'run', 'run', 'lock', 'tryLock']),
  }),
  fair: (random, key) => ({ ...of(key), fair: true, through: random.among(['acquire', 'run', 'fairLock']) }),
  read: (random, key) => ({
    ...of(key),
    mode: 'read',
    through: random.among(['acquire', 'tryAcquire', 'run', 'readLock']),
  }),
  write: (random, key) => ({ ...of(key), through: random.among(['run', 'writeLock']) }),
  permits: (random, key) => {
    const through = random.among(['acquire', 'run', 'semaphore', 'semaphore']);
    const units = through === 'semaphore' ? random.between(1, PERMITS) : 1;
    return { ...of(key), mode: 'permits', units, through };
  },
  several: (random, key, keys) => ({
    keys: random.shuffled(keys).slice(0, random.between(2, keys.length)),
    mode: 'exclusive',
    through: random.among(['acquire', 'tryAcquire', 'run', 'multiLock']),
  }),
  // Two names for all processes: callers with the same name hold the key together.
  owner: (random, key) => ({
    ...of(key),
    owner: random.among(['ada', 'grace']),
    through: random.among(['acquire', 'run', 'lock']),
  }),
  replicated: (random, key) => ({
    ...of(key),
    mode: random.chance(0.25) ? 'read' : 'exclusive',
    through: random.among(['acquire', 'tryAcquire', 'run']),
  }),
};

const of = (key) => ({ keys: [key], mode: 'exclusive' });

function terms(random) {
  const length = random.chance(0.85) ? random.between(0, 50) : random.between(50, 700);
  const expire = random.chance(0.6) ? 0 : random.between(80, 500);
  return {
    wait: random.chance(0.15) ? 0 : random.between(50, 2_500),
    expire,
    maxRenewTimes: random.chance(0.1) ? 1 : 0,
    holdAtLeast: random.chance(0.08) ? random.between(10, 80) : 0,
    abortAfter: random.chance(0.12) ? random.between(0, 600) : undefined,
    length,
    step: random.chance(0.3) ? { at: random.between(0, length), ...random.among(STEPS)(random) } : undefined,
  };
}

/** Some of the locks that a replica has to confirm are held across a failover. */
const replication = (random) => ({
  replicas: { min: 1, timeout: random.between(50, 400) },
  ...(random.chance(0.2) && {
    expire: random.between(2_000, 5_000),
    length: random.between(1_000, 3_000),
    step: undefined,
  }),
});

/** Occasional actions of a holder in the middle of its section. */
const STEPS = [
  () => ({ does: 'verify' }),
  (random) => ({ does: 'keep verifying', times: random.between(5, 60) }),
  // And stays a little longer than that, so as to see the end of a lease that is not renewed.
  (random) => {
    const lease = random.between(60, 500);
    return { does: 'extend', lease, stay: lease + 80 };
  },
  (random) => ({ does: 'block', ms: random.between(20, 800) }),
  () => ({ does: 're-enter' }),
];

/** A process that blocks delays hundreds of callers: the faults do that seldom enough. */
const STEPS_OF_CROWD = STEPS.filter((step) => step(new Random(0, 'steps')).does !== 'block');

/** Callers of one sort, which in the general mix rarely reach their case; each with a lock for itself. */
const HOLDERS = {
  /** Prolongs a lease that is not renewed, and stays until the end of it. */
  extending(random) {
    const lease = random.between(250, 500);
    const step = { at: random.between(0, 60), does: 'extend', lease, stay: lease + 80 };
    return { ...taken(random), expire: random.between(200, 500), length: step.at, step };
  },
  /** Renews its lease for some tenths of a second. */
  steady: (random) => ({ ...renewed(random), length: random.between(400, 1_200) }),
  /** Verifies its lock all the time, before each part of its work. */
  verifying(random) {
    const step = { at: random.between(0, 20), does: 'keep verifying', times: random.between(50, 500), stay: 0 };
    return { ...renewed(random), length: step.at, step };
  },
  /** Two keys for each call. */
  pairs(random, place, keys) {
    const other = random.among(keys.filter((_, i) => i !== place));
    const pair = random.shuffled([keys[place], other]);
    return { ...renewed(random), kind: 'several', keys: pair, length: random.between(0, 100), through: 'acquire' };
  },
  /** Renews its lease for seconds; or with a lease that is prolonged once. */
  patient(random) {
    if (random.chance(0.5)) return { ...renewed(random), length: random.between(800, 3_000) };
    const step = { at: random.between(50, 500), does: 'extend', lease: random.between(3_000, 5_000) };
    const stay = random.between(1_000, 3_000);
    return { ...taken(random), expire: random.between(800, 1_600), length: step.at, step: { ...step, stay } };
  },
  /** One of very many: of readers of the first key, and of callers for permits of the others. A few are alone. */
  crowd(random, place) {
    const isAlone = random.chance(0.01);
    const mode = isAlone ? 'exclusive' : place === 0 ? 'read' : 'permits';
    return {
      ...{ kind: mode, mode, permits: PERMITS_OF_CROWD, units: random.chance(0.8) ? 1 : 2 },
      ...{ through: random.among(['acquire', 'acquire', 'run', 'tryAcquire']), fair: !isAlone && random.chance(0.3) },
      ...{ wait: random.between(500, 6_000), expire: random.chance(0.7) ? 0 : random.between(300, 1_500) },
      ...{ maxRenewTimes: 0, holdAtLeast: 0, length: random.between(0, 400), pause: random.between(0, 400) },
      abortAfter: random.chance(0.05) ? random.between(0, 600) : undefined,
      step: random.chance(0.1) ? { at: random.between(0, 20), ...random.among(STEPS_OF_CROWD)(random) } : undefined,
    };
  },
  /** Prolongs a lease twice that is renewed: a replica may have missed the second time. */
  prolonging(random) {
    const next = { does: 'extend', lease: 7_000, stay: random.between(4_000, 5_000) };
    const step = { at: random.between(20, 200), does: 'extend', lease: 3_500, stay: random.between(400, 1_200), next };
    return { ...renewed(random), length: step.at, step };
  },
};

export const HOLDER_NAMES = Object.keys(HOLDERS);

/** ms of the longest lease that callers ask for by themselves, in the general mix and of each sort. */
const LONGEST_ASKED = 500;
const LONGEST_ASKED_BY = { crowd: 1_500, patient: 5_000, prolonging: 7_000 };

/** The longest lease in a run, in ms; `renewed`: that of a lock that is renewed. Replicated locks may have a longer one. */
export const longestLease = (holders, renewed) => Math.max(renewed, LONGEST_ASKED_BY[holders] ?? LONGEST_ASKED);

const taken = (random) => ({
  wait: random.between(1_000, 6_000),
  holdAtLeast: 0,
  through: random.among(['acquire', 'run', 'lock']),
});
const renewed = (random) => ({ ...taken(random), expire: 0, maxRenewTimes: 0 });
