import { Random } from './random.mjs';

/** As many permits has every key, in all processes. */
export const PERMITS = 3;

/**
 * What the caller number `loop` of a client asks for, one after the other, for ever: decided by the seed alone. `kinds`
 * are the kinds of locks that the topology has.
 */
export function* planOperations({ seed, client, loop, keys, kinds }) {
  const random = new Random(seed, `${client}/${loop}`);
  for (;;) {
    const key = random.among(keys);
    const kind = random.chance(0.5) ? random.among(kinds) : favouriteOf(key, { keys, kinds });
    yield {
      kind,
      pause: random.chance(0.3) ? random.between(1, 40) : 0,
      ...KINDS[kind](random, key, keys),
      ...terms(random),
      ...(kind === 'replicated' && replication(random)),
    };
  }
}

/** Each key is wanted in one way more than in others, or readers and permits would seldom meet their like. */
function favouriteOf(key, { keys, kinds }) {
  const favourites = ['replicated', 'exclusive', 'read', 'permits'].filter((kind) => kinds.includes(kind));
  return favourites[keys.indexOf(key) % favourites.length];
}

/** What each kind of lock is, and through which doors of the library it is taken. */
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
  // Two names for all processes: whoever says one of them holds the key together with those who say the same.
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

/** Some of those that a replica has to confirm are held across a failover. */
const replication = (random) => ({
  replicas: { min: 1, timeout: random.between(50, 400) },
  ...(random.chance(0.2) && {
    expire: random.between(2_000, 5_000),
    length: random.between(1_000, 3_000),
    step: undefined,
  }),
});

/** What a holder does in the midst of its section, at times. */
const STEPS = [
  () => ({ does: 'verify' }),
  // And stays a little longer than that, so as to see the end of a lease that is not renewed.
  (random) => {
    const lease = random.between(60, 500);
    return { does: 'extend', lease, stay: lease + 80 };
  },
  (random) => ({ does: 'block', ms: random.between(20, 800) }),
  () => ({ does: 're-enter' }),
];
