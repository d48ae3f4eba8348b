/**
 * The checks: each model with its bounds, and each with one rule taken out. `fails` names the property that must be
 * violated then, as a part of spin's message; without it no property may be violated.
 */
const QUEUE = { file: 'queue.pml' };
const WAITING = { file: 'queue.pml', liveness: true };
const COHORT = { file: 'cohort.pml' };
const REDLOCK = { file: 'redlock.pml' };
const TOKENS = { file: 'tokens.pml' };

const EXCLUSION = 'believes a second holder';
const TOKENS_RISE = 'tokens rise';
const HAS_LEFT = 'who has left gets it';
const SERVED = 'somebody waits for ever';
const TURN = 'others get their turn';

export const CHECKS = [
  { ...QUEUE, name: 'two clients, two acquisitions each', defines: { ROUNDS: 2, RENEWALS: 0 } },
  { ...QUEUE, name: 'a message is lost, a client dies', defines: { LOSSES: 1, CRASHES: 1 } },
  { ...QUEUE, name: 'a connection breaks', defines: { BREAKS: 1 } },
  { ...QUEUE, name: 'a connection breaks, a waiter leaves', defines: { BREAKS: 1, LEAVES: 1, RENEWALS: 0 } },
  { ...QUEUE, name: 'three clients, two slow ticks', defines: { CLIENTS: 3, PROMPT: 2 } },
  {
    ...WAITING,
    name: 'served: a message is lost, a client dies',
    defines: { PROMPT: 0, ROUNDS: 2, LOSSES: 1, CRASHES: 1 },
  },
  { ...WAITING, name: 'served: and a waiter leaves', defines: { PROMPT: 0, ROUNDS: 2, LOSSES: 1, LEAVES: 1 } },
  { ...WAITING, name: 'served: a connection breaks', defines: { PROMPT: 0, BREAKS: 1 } },

  { ...QUEUE, name: 'validity from the answer', defines: { VALID_FROM_ANSWER: 1 }, fails: EXCLUSION },
  { ...QUEUE, name: 'any push counts as a grant', defines: { BELIEVE_ANY_PUSH: 1, ROUNDS: 2 }, fails: EXCLUSION },
  { ...QUEUE, name: 'a release frees any hold', defines: { RELEASE_ANY: 1, ROUNDS: 2 }, fails: EXCLUSION },
  {
    ...QUEUE,
    name: 'a leave is not remembered',
    defines: { NO_REMEMBERING: 1, LEAVES: 1, BREAKS: 1 },
    fails: HAS_LEFT,
  },
  { ...WAITING, name: 'no polling', defines: { NO_POLLING: 1, PROMPT: 0, LOSSES: 1 }, fails: SERVED },
  {
    ...WAITING,
    name: 'no grant timeout',
    defines: { NO_GRANT_TIMEOUT: 1, PROMPT: 0, ROUNDS: 2, CRASHES: 1 },
    fails: SERVED,
  },

  { ...COHORT, name: 'two clients in turn', defines: {} },
  { ...COHORT, name: 'three clients in turn', defines: { CLIENTS: 3 } },
  { ...COHORT, name: 'tokens are not reserved', defines: { NOT_RESERVED: 1 }, fails: TOKENS_RISE },
  { ...COHORT, name: 'turns without limit', defines: { NO_LIMIT: 1 }, fails: TOKENS_RISE },
  { ...COHORT, name: 'a turn has a lease of its own', defines: { FRESH_LEASE: 1 }, fails: EXCLUSION },
  { ...COHORT, name: 'the next of a client is first', defines: { NEXT_IS_FIRST: 1 }, fails: TURN },

  { ...REDLOCK, name: 'three masters, no renewal', defines: { RENEWALS: 0 } },
  { ...REDLOCK, name: 'three masters, renewals', defines: { RENEWALS: 1 } },
  { ...REDLOCK, name: 'a master restarts empty, after the lease', defines: { RENEWALS: 0, RESTARTS: 1 } },
  { ...REDLOCK, name: 'a grant is yielded', defines: { RENEWALS: 0, YIELDS: 1 } },
  { ...REDLOCK, name: 'restart without delay', defines: { RENEWALS: 0, RESTARTS: 1, DELAY: 0 }, fails: EXCLUSION },
  {
    ...REDLOCK,
    name: 'validity from the answer',
    defines: { RENEWALS: 0, SLOW_ANSWERS: 1, VALID_FROM_ANSWER: 1 },
    fails: EXCLUSION,
  },
  { ...REDLOCK, name: 'less than a majority', defines: { RENEWALS: 0, QUORUM: 1 }, fails: EXCLUSION },
  {
    ...REDLOCK,
    name: 'a yield arrives once more, later',
    defines: { RENEWALS: 0, YIELDS: 1, LATE: 1 },
    fails: EXCLUSION,
  },

  { ...TOKENS, name: 'the server restarts empty, twice', defines: { RESTARTS: 2 } },
  { ...TOKENS, name: 'the clock goes back, less than remembered', defines: { BACK: 2 } },
  { ...TOKENS, name: 'tokens start anew', defines: { RESTARTS: 1, FROM_ANEW: 1 }, fails: TOKENS_RISE },
  { ...TOKENS, name: 'blocks ahead of the clock', defines: { RESTARTS: 1, TURNS: 8 }, fails: TOKENS_RISE },
  { ...TOKENS, name: 'the clock goes back by more', defines: { MEMORY: 2, BACK: 4 }, fails: TOKENS_RISE },
];

/** Which property a violation that spin reports is of. */
export const PROPERTIES = [
  [/assertion violated.*(believes|valid\[)/, EXCLUSION],
  [/assertion violated.*(bestLag|highest)/, TOKENS_RISE],
  [/assertion violated.*hasLeft/, HAS_LEFT],
  [/assertion violated.*overtaken/, TURN],
  [/acceptance cycle/, SERVED],
];
