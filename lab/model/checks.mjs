/**
 * The checks: each model with its bounds, and each with one rule taken out. `fails` names the property that must be
 * violated then, as a part of spin's message; without it no property may be violated.
 */
const of =
  (file, usual, liveness = false) =>
  (name, defines, fails) => ({ file, liveness, name, defines: { ...usual, ...defines }, fails });
const QUEUE = { CLIENTS: 2, ROUNDS: 1, RENEWALS: 1, LOSSES: 0, BREAKS: 0, CRASHES: 0, LEAVES: 0 };
const queue = of('queue.pml', QUEUE);
const waiting = of('queue.pml', QUEUE, true);
const cohort = of('cohort.pml', { CLIENTS: 2 });
const redlock = of('redlock.pml', { QUORUM: 2, RENEWALS: 0, RESTARTS: 0, DELAY: 2, YIELDS: 0, LATE: 0 });
const tokens = of('tokens.pml', { TURNS: 4, MEMORY: 4, BACK: 0, RESTARTS: 0 });

const EXCLUSION = 'believes a second holder';
const TOKENS_RISE = 'tokens rise';
const HAS_LEFT = 'who has left gets it';
const SERVED = 'somebody waits for ever';
const TURN = 'others get their turn';

export const CHECKS = [
  queue('two clients, two acquisitions each', { ROUNDS: 2, RENEWALS: 0 }),
  queue('a message is lost, a client dies', { LOSSES: 1, CRASHES: 1 }),
  queue('a connection breaks', { BREAKS: 1 }),
  queue('a connection breaks, a waiter leaves', { BREAKS: 1, LEAVES: 1, RENEWALS: 0 }),
  queue('three clients, two slow ticks', { CLIENTS: 3, PROMPT: 2 }),
  waiting('served: a message is lost, a client dies', { PROMPT: 0, ROUNDS: 2, LOSSES: 1, CRASHES: 1 }),
  waiting('served: and a waiter leaves', { PROMPT: 0, ROUNDS: 2, LOSSES: 1, LEAVES: 1 }),
  waiting('served: a connection breaks', { PROMPT: 0, BREAKS: 1 }),

  queue('validity from the answer', { VALID_FROM_ANSWER: 1 }, EXCLUSION),
  queue('any push counts as a grant', { BELIEVE_ANY_PUSH: 1, ROUNDS: 2 }, EXCLUSION),
  queue('a release frees any hold', { RELEASE_ANY: 1, ROUNDS: 2 }, EXCLUSION),
  queue('a leave is not remembered', { NO_REMEMBERING: 1, LEAVES: 1, BREAKS: 1 }, HAS_LEFT),
  waiting('no polling', { NO_POLLING: 1, PROMPT: 0, LOSSES: 1 }, SERVED),
  waiting('no grant timeout', { NO_GRANT_TIMEOUT: 1, PROMPT: 0, ROUNDS: 2, CRASHES: 1 }, SERVED),

  cohort('two clients in turn', {}),
  cohort('three clients in turn', { CLIENTS: 3 }),
  cohort('tokens are not reserved', { NOT_RESERVED: 1 }, TOKENS_RISE),
  cohort('turns without limit', { NO_LIMIT: 1 }, TOKENS_RISE),
  cohort('a turn has a lease of its own', { FRESH_LEASE: 1 }, EXCLUSION),
  cohort('the next of a client is first', { NEXT_IS_FIRST: 1 }, TURN),

  redlock('three masters, no renewal', {}),
  redlock('three masters, renewals', { RENEWALS: 1 }),
  redlock('a master restarts empty, after the lease', { RESTARTS: 1 }),
  redlock('a grant is yielded', { YIELDS: 1 }),
  redlock('restart without delay', { RESTARTS: 1, DELAY: 0 }, EXCLUSION),
  redlock('validity from the answer', { SLOW_ANSWERS: 1, VALID_FROM_ANSWER: 1 }, EXCLUSION),
  redlock('less than a majority', { QUORUM: 1 }, EXCLUSION),
  redlock('a yield arrives once more, later', { YIELDS: 1, LATE: 1 }, EXCLUSION),

  tokens('the server restarts empty, twice', { RESTARTS: 2 }),
  tokens('the clock goes back, less than remembered', { BACK: 2 }),
  tokens('tokens start anew', { RESTARTS: 1, FROM_ANEW: 1 }, TOKENS_RISE),
  tokens('blocks ahead of the clock', { RESTARTS: 1, TURNS: 8 }, TOKENS_RISE),
  tokens('the clock goes back by more', { MEMORY: 2, BACK: 4 }, TOKENS_RISE),
];

/** Which property a violation that spin reports is of. */
export const PROPERTIES = [
  [/assertion violated.*(believes|valid\[)/, EXCLUSION],
  [/assertion violated.*(bestLag|highest)/, TOKENS_RISE],
  [/assertion violated.*hasLeft/, HAS_LEFT],
  [/assertion violated.*overtaken/, TURN],
  [/acceptance cycle/, SERVED],
];
