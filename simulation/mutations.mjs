/** In this variable a process is told which mutation of the library to load. */
export const MUTATION_VARIABLE = 'SIMULATION_MUTATION';

const BELIEF = 'lib/engine/lease-view.ts';
const ENGINE = 'lib/engine/lock-engine.ts';
const HOLD = 'lib/engine/hold.ts';
const QUEUE = 'lib/engine/acquire-queue.ts';
const ROOM = 'lib/engine/acquire-queues.ts';
const SET = 'lib/engine/lock-set.ts';
const TICKET = 'lib/engine/ticket.ts';
const VALIDITY = 'lib/engine/validity.ts';
const WATCHDOG = 'lib/engine/watchdog.ts';

/** Lines of the library, and what each is made of to see whether the simulation finds it out. `from` stands there once. */
export const MUTATIONS = [
  {
    name: 'long-belief',
    what: 'a lease is believed in for 1.2 times as long',
    file: VALIDITY,
    from: 'return from + lease * (1 - DRIFT) - ROUNDING;',
    to: 'return from + lease * 1.2;',
  },
  {
    name: 'no-drift',
    what: 'clocks are taken to run equally fast',
    file: VALIDITY,
    from: 'return from + lease * (1 - DRIFT) - ROUNDING;',
    to: 'return from + lease - ROUNDING;',
  },
  {
    name: 'no-drift-of-pushes',
    what: 'and only between an answer and the push that is measured by it',
    file: VALIDITY,
    from: 'return sent + elapsed * (1 - DRIFT);',
    to: 'return sent + elapsed;',
  },
  {
    name: 'uncounted-suspension',
    what: 'the time for which a machine was suspended is not counted',
    file: 'lib/common/suspension-detector.ts',
    from: 'if (isSuspension) this.suspended += found.most - known.least;',
    to: '',
  },
  {
    name: 'push-from-arrival',
    what: 'a pushed grant is believed in from its arrival on',
    file: TICKET,
    from: 'Math.min(elapsedSince(base.sent, grant.time - base.time), now)',
    to: 'now',
  },
  {
    name: 'early-push',
    what: 'a push that comes before the answer by which it is measured is dropped',
    file: TICKET,
    from: 'if (early !== undefined) this.pushed(early);',
    to: '',
  },
  {
    name: 'early-yield',
    what: 'a word to yield that comes before the grant is dropped',
    file: TICKET,
    from: 'this.yields = true;',
    to: '',
  },
  {
    name: 'yield',
    what: 'a word to yield to a holder is dropped',
    file: ENGINE,
    from: 'this.holds.originOf(id)?.endTurns();',
    to: '',
  },
  {
    name: 'endless-turns',
    what: 'turns are not counted',
    file: QUEUE,
    from: 'this.turnsLeft -= 1;',
    to: '',
  },
  {
    name: 'endless-time',
    what: 'the time for turns does not end',
    file: QUEUE,
    from: 'clock.now() >= this.turnsEnd',
    to: 'false',
  },
  {
    name: 'known-owner',
    what: 'a lock goes on in turn, although somebody knows its owner',
    file: QUEUE,
    from: ' || hold.ownerIsKnown) return false;',
    to: ') return false;',
  },
  {
    name: 'turn-outlives-lease',
    what: 'who has it in turn believes in a lease that has not begun with it',
    file: BELIEF,
    from: 'next.end = Math.min(next.end, this.end);',
    to: '',
  },
  {
    name: 'no-poll',
    what: 'who waits does not ask again',
    file: TICKET,
    from: 'this.askAt(this.environment.clock.now() + reply.askIn);',
    to: '',
  },
  {
    name: 'no-retry',
    what: 'nor after a question that failed',
    file: TICKET,
    from: 'this.askAt(now + RETRY * (1 + random()));',
    to: '',
  },
  {
    name: 'no-leave',
    what: 'who gives up does not say so',
    file: TICKET,
    from: 'environment.leave(terms.key, this.id, unanswered ? 2 * environment.commandTimeout : 0);',
    to: '',
  },
  {
    name: 'deaf-ticket',
    what: 'the next local waiter does not ask after a loss',
    file: QUEUE,
    from: 'this.releasing(hold)?.ask();',
    to: 'this.releasing(hold);',
  },
  {
    name: 'extend-before-belief',
    what: 'belief does not shrink when a shorter lease is asked for',
    file: BELIEF,
    from: 'this.end = Math.min(this.end, validUntil(sent, lease));',
    to: '',
  },
  {
    name: 'old-answers',
    what: 'answers to questions from before that count',
    file: BELIEF,
    // What is believed of an answer to a question from behind the extension would hide it.
    from: `if (number < this.countsFrom) return 'ignored';
    // Whatever comes late is carried out behind this question, and leaves its own lease from then on.
    const loose = this.looseExtensions.filter(({ until }) => sent < until);`,
    to: `const loose = this.looseExtensions.filter(({ until }) => number >= this.countsFrom && sent < until);`,
  },
  {
    name: 'belief-never-shrinks',
    what: 'the answer of a server that took over may only raise belief',
    file: BELIEF,
    from: 'this.end = isContradicted || isAnotherServer ? certain : Math.max(this.end, certain);',
    to: 'this.end = Math.max(this.end, certain);',
  },
  {
    name: 'no-renewal',
    what: 'leases are not renewed',
    file: WATCHDOG,
    from: 'if (this.mayRenew(hold) || this.isInDoubt(hold)) this.enqueue(hold, false);',
    to: '',
  },
  {
    name: 'unwatched-end',
    what: 'the end of a belief is noticed only by who looks',
    file: WATCHDOG,
    from: 'if (!hold.isHeld) return;\n    if (this.mayRenew',
    to: 'if (hold.validUntil <= this.clock.now()) return;\n    if (this.mayRenew',
  },
  {
    name: 'silent-signal',
    what: 'the signal of a lost lock does not abort',
    file: HOLD,
    from: 'this.controller?.abort(loss);',
    to: '',
  },
  {
    name: 'kept-deadline',
    what: 'the end of a wait stays in the agenda',
    file: ROOM,
    from: 'this.agenda.cancel(waiter.deadline);\n    return this.holds.add(',
    to: 'return this.holds.add(',
  },
  {
    name: 'no-sleep',
    what: 'who has been served keeps the process alive',
    file: 'lib/engine/waiter.ts',
    from: 'this.sleep?.();',
    to: '',
  },
  {
    name: 'unordered-set',
    what: 'several keys are taken in the order in which they were named',
    file: SET,
    from: '[...set].sort(byKey)',
    to: 'set',
  },
  {
    name: 'kept-part',
    what: 'what was taken of several keys is kept when the rest cannot be had',
    file: SET,
    from: 'environment.release(hold)));',
    to: 'Promise.resolve(hold)));',
  },
  {
    name: 'not-at-least',
    what: 'a key is not kept for its holdAtLeast',
    file: ENGINE,
    from: 'return Math.max(0, Math.ceil(acquiredAt + terms.holdAtLeast - this.clock.now()));',
    to: 'return 0 * (acquiredAt + terms.holdAtLeast);',
  },
  {
    name: 'one-permit-more',
    what: 'one permit more than there are',
    file: 'lib/store/memory/memory-modes.ts',
    from: 'return used + mode.units <= limitFor(mode, limit);',
    to: 'return used + mode.units <= limitFor(mode, limit) + 1;',
  },
  {
    name: 'readers-beside',
    what: 'readers come in beside an exclusive holder',
    file: 'lib/store/memory/memory-modes.ts',
    from: "if (mode.kind === 'exclusive' || holds.some((hold) => hold.mode.kind !== mode.kind)) return false;",
    to: "if (mode.kind === 'exclusive') return false;",
  },
  {
    name: 'overlapping-terms',
    what: 'a candidate stands again without waiting for the work of its last term',
    file: 'lib/service/objects/default-leader-election.ts',
    from: 'await this.finishLastTerm(stopped);',
    to: '',
  },
  {
    name: 'undeposed',
    what: 'a leader that has lost its lock is not told that its term is over',
    file: 'lib/service/objects/default-leader-election.ts',
    from: "handle.signal.addEventListener('abort', lost, { once: true });",
    to: '',
  },
  {
    name: 'unhandled',
    what: 'what follows a release that fails rejects where nobody hears it',
    file: 'lib/engine/releases.ts',
    from: 'answer.then(',
    to: 'void answer.finally(() => this.pending.delete(answer));\n    answer.then(',
  },
];

export const findMutation = (name) => MUTATIONS.find((mutation) => mutation.name === name);

/** The text of a file with a mutation in it. */
export function mutate(text, { name, from, to }) {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`mutation '${name}': what it changes stands there ${parts.length - 1} times`);
  return parts.join(to);
}
