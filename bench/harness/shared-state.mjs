/**
 * The shared state of all threads of a measurement, or of all processes (mapped-state.mjs): its phase, whether two sections overlap, and when the last release
 * was sent.
 */
export const PHASE = { WARM_UP: 0, MEASURE: 1, STOP: 2 };

const INT = { PHASE: 0, INSIDE: 1, VIOLATIONS: 2, WAITING: 3, COUNTER: 4, SECTIONS: 5 };
const TIME = { STARTED: 0, STOPPED: 1, RELEASED: 2 };
const TIMES = 8;
const EXCLUSIVE = { weight: 1, limit: 1 };
/** Spaced apart, so that the threads do not compete for cache lines. */
const STRIDE = 16;
const FIRST_SLOT = 64 / 4;
const SLOTS = 64;
/** The word of a slot that counts commands. The other words are for `AttachedState`. */
const COMMANDS = 0;
/** The words that callers change at any time, and not only while they hold the lock. */
const CHANGED_BY_ALL = [INT.VIOLATIONS, INT.WAITING, INT.SECTIONS];

/** Keys that have a state of their own, for callers of many keys: how much of it is taken, and a counter. */
const KEYS = 10_000;
const WORDS_OF_KEY = 2;
const FIRST_KEY = FIRST_SLOT + SLOTS * STRIDE;
/** The index of the key in scenarios with a single one. */
const SINGLE = -1;

const wordOf = (slot, at) => FIRST_SLOT + slot * STRIDE + at;

/** Where the state of a key is: for a single key among the words of all, on cache lines that are used anyway. */
function wordsOf(index) {
  if (index === SINGLE) return { inside: INT.INSIDE, counter: INT.COUNTER };
  const first = FIRST_KEY + index * WORDS_OF_KEY;
  return { inside: first, counter: first + 1 };
}

/** ms of a clock that is the same in all threads. */
const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
export const now = () => performance.now() + offset;

export class SharedState {
  static KEYS = KEYS;
  static BYTES = TIMES * 8 + (FIRST_KEY + KEYS * WORDS_OF_KEY) * 4;
  /** The bytes of the times at which the measurement starts and stops. */
  static BYTES_OF_PHASES = TIME.RELEASED * 8;
  static PHASE_AT = SharedState.byteOf(INT.PHASE);

  static byteOf(word) {
    return TIMES * 8 + word * 4;
  }

  /** The word that a process in `slot` changes instead of `word` if it cannot add to it atomically. */
  static ownWord(word, slot) {
    return CHANGED_BY_ALL.includes(word) ? wordOf(slot, word) : word;
  }

  constructor(buffer) {
    this.buffer = buffer ?? new SharedArrayBuffer(SharedState.BYTES);
    this.times = new Float64Array(this.buffer, 0, TIMES);
    this.ints = new Int32Array(this.buffer, TIMES * 8);
    if (buffer === undefined) this.clearTimes();
  }

  clearTimes() {
    this.times[TIME.RELEASED] = NaN;
  }

  /** The terms with which a thread opens it. */
  get shared() {
    return { buffer: this.buffer };
  }

  /** Threads write into the memory that is read here. */
  refresh() {}

  close() {}

  get(word) {
    return Atomics.load(this.ints, word);
  }

  set(word, value) {
    this.ints[word] = value;
  }

  /** Returns the sum. */
  add(word, n) {
    return Atomics.add(this.ints, word, n) + n;
  }

  /** The word, and the words that processes have of their own instead. */
  #total(word) {
    let sum = this.get(word);
    for (let slot = 0; slot < SLOTS; slot++) sum += this.ints[wordOf(slot, word)];
    return sum;
  }

  get phase() {
    return this.get(INT.PHASE);
  }

  get isOver() {
    return this.phase === PHASE.STOP;
  }

  get isMeasuring() {
    return this.phase === PHASE.MEASURE;
  }

  start() {
    this.times[TIME.STARTED] = now();
    Atomics.store(this.ints, INT.PHASE, PHASE.MEASURE);
  }

  stop() {
    this.times[TIME.STOPPED] = now();
    Atomics.store(this.ints, INT.PHASE, PHASE.STOP);
  }

  get started() {
    return this.times[TIME.STARTED];
  }

  get stopped() {
    return this.times[TIME.STOPPED];
  }

  /** ms between start and stop */
  get window() {
    return this.stopped - this.started;
  }

  /** The number of commands sent by the thread in `slot`. Only that thread adds to it. */
  countCommands(slot, n) {
    this.add(wordOf(slot, COMMANDS), n);
  }

  get commands() {
    this.refresh();
    let sum = 0;
    for (let slot = 0; slot < SLOTS; slot++) sum += this.ints[wordOf(slot, COMMANDS)];
    return sum;
  }

  beginWaiting() {
    this.add(INT.WAITING, 1);
  }

  endWaiting() {
    this.add(INT.WAITING, -1);
  }

  /**
   * Called on the first line of a section that has `weight` of the `limit` of the key: one of some permits, or all of
   * them for a writer. `index` is that of the key, if there are many. Returns the argument of `leave`.
   */
  enter({ weight, limit } = EXCLUSIVE, index = SINGLE) {
    const { inside, counter } = wordsOf(index);
    if (this.add(inside, weight) > limit) this.add(INT.VIOLATIONS, 1);
    // Read here and written in `leave`, like a program that trusts its lock: an update in between is lost.
    return this.get(counter);
  }

  leave(read, { weight, limit } = EXCLUSIVE, index = SINGLE) {
    const { inside, counter } = wordsOf(index);
    if (weight === limit) {
      this.set(counter, read + 1);
      this.add(INT.SECTIONS, 1);
    }
    this.add(inside, -weight);
  }

  /** Called right before a release is sent. */
  noteRelease() {
    this.times[TIME.RELEASED] = this.get(INT.WAITING) > 0 ? now() : NaN;
  }

  /** ms since a release was sent while another caller waited, else NaN */
  get sinceRelease() {
    return now() - this.times[TIME.RELEASED];
  }

  /** The callers that wait at the moment. */
  get waiting() {
    this.refresh();
    return this.#total(INT.WAITING);
  }

  /** Violations of exclusion: sections that overlapped, and updates that were lost. */
  get violations() {
    this.refresh();
    let counted = this.get(INT.COUNTER);
    for (let i = 0; i < KEYS; i++) counted += this.ints[wordsOf(i).counter];
    const lost = this.#total(INT.SECTIONS) - counted;
    return this.#total(INT.VIOLATIONS) + Math.abs(lost);
  }
}
