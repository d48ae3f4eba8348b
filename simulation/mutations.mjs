/** This variable tells a process which mutation of the library to load. */
export const MUTATION_VARIABLE = 'SIMULATION_MUTATION';

const LEASE = 'lib/engine/lease-view.ts';
const MESSAGES = 'lib/engine/store-messages.ts';
const HOLD = 'lib/engine/hold.ts';
const QUEUE = 'lib/engine/acquire-queue.ts';
const SHARED = 'lib/engine/shared-hold.ts';
const BATCH = 'lib/engine/local-batch.ts';
const POLL = 'lib/engine/store-poll.ts';
const WAITER = 'lib/engine/waiter.ts';
const SET = 'lib/engine/acquire-set.ts';
const TICKET = 'lib/engine/ticket.ts';
const QUORUM = 'lib/store/quorum';
const VALIDITY = 'lib/engine/validity.ts';
const WATCHDOG = 'lib/engine/watchdog.ts';

/**
 * Lines of the library, and the replacement of each, to see whether the simulation detects it. `from` occurs there
 * once.
 * @type {readonly import('../mutations/mutate.mjs').Mutation[]}
 */
export const MUTATIONS = [
  {
    name: 'long-validity',
    what: 'a lease counts as valid for 1.2 times as long',
    file: VALIDITY,
    from: 'return from + lease * (1 - DRIFT) - ROUNDING;',
    to: 'return from + lease * 1.2;',
  },
  {
    name: 'no-drift',
    what: 'all clocks count as equally fast',
    file: VALIDITY,
    from: 'return from + lease * (1 - DRIFT) - ROUNDING;',
    to: 'return from + lease - ROUNDING;',
  },
  {
    name: 'no-drift-of-pushes',
    what: 'the same, only between a reply and the pushed grant that is measured by it',
    file: VALIDITY,
    from: 'return sent + elapsed * (1 - DRIFT);',
    to: 'return sent + elapsed;',
  },
  {
    name: 'uncounted-suspension',
    what: 'the time of a suspension is not counted',
    file: 'lib/common/suspension-detector.ts',
    from: 'if (isSuspension) this.suspended += found.most - known.least;',
    to: '',
  },
  {
    name: 'push-from-arrival',
    what: 'the validity of a pushed grant counts from its arrival',
    file: TICKET,
    from: 'Math.min(elapsedSince(reference.sent, grant.time - reference.time), now)',
    to: 'now',
  },
  {
    name: 'early-push',
    what: 'a pushed grant that arrives before the reply that measures it is dropped',
    file: TICKET,
    from: 'if (early !== undefined) this.pushed(early);',
    to: '',
  },
  {
    name: 'early-yield',
    what: 'a `yield` that arrives before the grant is dropped',
    file: TICKET,
    from: 'this.yields = true;',
    to: '',
  },
  {
    name: 'yield',
    what: 'a `yield` to a holder is dropped',
    file: MESSAGES,
    from: 'holds.queueOf(id)?.endBatch();',
    to: '',
  },
  {
    name: 'endless-batch',
    what: 'the size of a batch is not limited',
    file: BATCH,
    from: 'this.left -= 1;',
    to: '',
  },
  {
    name: 'endless-batch-time',
    what: 'the time of a batch is not limited',
    file: BATCH,
    from: 'clock.now() >= this.until',
    to: 'false',
  },
  {
    name: 'known-owner',
    what: 'a batch continues although the owner of the lock was read',
    file: BATCH,
    from: ' || hold.ownerIsKnown) return false;',
    to: ') return false;',
  },
  {
    name: 'handoff-outlives-lease',
    what: 'the next member of a batch counts its lease from its own start, not from the grant',
    file: LEASE,
    from: 'next.end = Math.min(next.end, this.end);',
    to: '',
  },
  {
    name: 'no-poll',
    what: 'a waiter does not retry',
    file: TICKET,
    from: 'this.poll.askAt(now + reply.retryAfter);',
    to: '',
  },
  {
    name: 'no-retry',
    what: 'a waiter does not retry after a failed request',
    file: POLL,
    from: 'this.askAt(now + Math.max(soonest, Math.min(soonest * (this.question.patience ?? 1), last - now)));',
    to: '',
  },
  {
    name: 'no-leave',
    what: 'a waiter that gives up sends no leave',
    file: TICKET,
    from: 'this.parts.releases.leave(this.terms.key, this.id, isUnanswered ? 2 * limits.commandTimeout : 0);',
    to: '',
  },
  {
    name: 'no-request-after-loss',
    what: 'no request is sent for the next local waiter after a loss',
    file: QUEUE,
    from: 'void => this.releasing(hold)?.tryAcquireOrEnqueue();',
    to: 'void => void this.releasing(hold);',
  },
  {
    name: 'handover-keeps-hold',
    what: 'the old handle stays valid when its lock is handed over',
    file: HOLD,
    from: "this.currentState = 'offered';",
    to: '',
  },
  {
    name: 'adoption-keeps-token',
    what: 'a lock is adopted with the token that it had',
    file: 'lua/adopt.lua',
    from: 'hold.token = next_token(lease, 1, 1)',
    to: '',
  },
  {
    name: 'adoption-leaves-offer',
    what: 'an offer still stands after it was adopted',
    file: 'lua/adopt.lua',
    from: "redis.call('HDEL', STATE, offer)",
    to: '',
  },
  {
    name: 'takeover-after-batch',
    what: 'a call takes over the hold of a release in the background, whatever its batch allows',
    file: 'lib/engine/acquire-queue.ts',
    from: 'if (this.holder !== hold || !this.batch.allows(hold, terms) || !hold.end()) return undefined;',
    to: 'if (this.holder !== hold || !hold.end()) return undefined;',
  },
  {
    name: 'extend-keeps-validity',
    what: 'the validity does not shrink when a shorter lease is requested',
    file: LEASE,
    from: 'this.end = Math.min(this.end, validUntil(sent, lease));',
    to: '',
  },
  {
    name: 'old-answers',
    what: 'replies to requests from before that count',
    file: LEASE,
    // Otherwise the reply to a request after the extension would hide the fault.
    from: `if (number < this.countsFrom) return 'ignored';
    // An extension that is still under way runs behind this question, and leaves its own lease from then on.
    const loose = this.looseExtensions.filter(({ until }) => sent < until);`,
    to: `const loose = this.looseExtensions.filter(({ until }) => number >= this.countsFrom && sent < until);`,
  },
  {
    name: 'validity-never-shrinks',
    what: 'the reply of a server that took over may only raise the validity',
    file: LEASE,
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
    what: 'the end of the validity is noticed only when the state is read',
    file: WATCHDOG,
    from: 'if (!hold.isHeld) return;\n    if (this.mayRenew',
    to: 'if (hold.validUntil <= this.context.clock.now()) return;\n    if (this.mayRenew',
  },
  {
    name: 'silent-signal',
    what: 'the signal of a lost lock does not abort',
    file: HOLD,
    from: 'this.lossSignal?.abort(loss);',
    to: '',
  },
  {
    name: 'kept-deadline',
    what: 'the deadline of a wait stays in the timer queue',
    file: WAITER,
    from: 'this.context.timers.cancel(this.deadline);',
    to: '',
  },
  {
    name: 'kept-alive',
    what: 'a waiter that was served keeps the process alive',
    file: WAITER,
    from: 'this.letProcessExit?.();',
    to: '',
  },
  {
    name: 'unordered-set',
    what: 'several keys are acquired in the order in which they were named',
    file: SET,
    from: '[...set].sort(byKey)',
    to: 'set',
  },
  {
    name: 'kept-part',
    what: 'the keys acquired so far are kept when the rest cannot be acquired',
    file: SET,
    from: 'releases.release(hold)));',
    to: 'Promise.resolve(hold)));',
  },
  {
    name: 'not-at-least',
    what: 'a key is not kept for its holdAtLeast',
    file: 'lib/engine/hold-releases.ts',
    from: 'return Math.max(0, Math.ceil(acquiredAt + terms.holdAtLeast - this.context.clock.now()));',
    to: 'return 0 * (acquiredAt + terms.holdAtLeast);',
  },
  {
    name: 'one-permit-more',
    what: 'one permit more than the limit is granted',
    file: 'lua/shared/modes.lua',
    from: 'request.free = limit_for(request) - used',
    to: 'request.free = limit_for(request) - used + 1',
  },
  {
    name: 'readers-beside',
    what: 'readers are granted beside an exclusive holder',
    file: 'lua/shared/modes.lua',
    from: 'if hold.kind ~= request.kind then return false end',
    to: '',
  },
  {
    name: 'overlapping-terms',
    what: 'a candidate stands again without waiting for the work of its last term',
    file: 'lib/service/objects/default-leader-election.ts',
    from: 'await this.finishLastTerm(stopped);',
    to: '',
  },
  {
    name: 'not-deposed',
    what: 'a leader that has lost its lock is not notified',
    file: 'lib/service/objects/default-leader-election.ts',
    from: "handle.signal.addEventListener('abort', lost, { once: true });",
    to: '',
  },
  {
    name: 'short-suspensions',
    what: 'suspensions of less than a second are not noticed',
    file: 'lib/common/suspension-detector.ts',
    from: 'const WALL_TOLERANCE = 10;',
    to: 'const WALL_TOLERANCE = 1_000;',
  },
  {
    name: 'late-timers',
    what: 'timers are not set again after a suspension',
    file: 'lib/common/elapsed-clock.ts',
    from: 'this.wait(timer, timer.due - this.now());\n    }',
    to: '}',
  },
  {
    name: 'late-signal',
    what: 'the signal of a lost lock aborts 50 ms later',
    file: HOLD,
    from: 'this.lossSignal?.abort(loss);\n      for',
    to: 'setTimeout(() => this.lossSignal?.abort(loss), 50);\n      for',
  },
  {
    name: 'extend-from-arrival',
    what: 'the validity after `extend` counts from the arrival of the reply',
    file: 'lib/engine/lease-operations.ts',
    from: 'else this.watchdog.answered(hold, question, left);\n    hold',
    to: 'else this.watchdog.answered(hold, { ...question, sent: this.context.clock.now() }, left);\n    hold',
  },
  {
    name: 'verify-from-arrival',
    what: 'the validity after `verify` counts from the arrival of the reply',
    file: 'lib/engine/lease-operations.ts',
    from: 'else return !this.watchdog.answered(hold, question, left ?? 0);',
    to: 'else return !this.watchdog.answered(hold, { ...question, sent: this.context.clock.now() }, left ?? 0);',
  },
  {
    name: 'renewal-from-arrival',
    what: 'the validity after a renewal counts from the arrival of the reply',
    file: WATCHDOG,
    from: 'const again = this.answered(hold, question, reply);',
    to: 'const again = this.answered(hold, { ...question, sent: this.context.clock.now() }, reply);',
  },
  {
    name: 'ignored-loss',
    what: 'a hold that the server does not know is not lost',
    file: WATCHDOG,
    from: "if (reply === 'not-held') return this.notHeld(hold);",
    to: "if (reply === 'not-held') return;",
  },
  {
    name: 'elected-while-deposed',
    what: 'a candidate stands again without waiting for the `onDeposed` of its last term',
    file: 'lib/service/objects/default-leader-election.ts',
    from: 'Promise.all([term.work, term.farewell])',
    to: 'Promise.all([term.work])',
  },
  {
    name: 'no-handover',
    what: 'a leader that resigns releases its lock before its `onDeposed` is over',
    file: 'lib/service/objects/default-leader-election.ts',
    from: 'await this.pause(HANDOVER, handle.signal, term.farewell);',
    to: '',
  },
  {
    name: 'unhandled',
    what: 'an error after a failed release is an unhandled rejection',
    file: 'lib/engine/releases.ts',
    from: 'answer.then(\n',
    to: 'void answer.finally(() => this.pending.delete(name));\n    answer.then(\n',
  },
  {
    name: 'minority',
    what: 'Redlock: one vote less than a majority is enough',
    file: `${QUORUM}/quorum-store.ts`,
    from: 'const quorum = Math.floor(members.length / 2) + 1;',
    to: 'const quorum = Math.max(1, Math.floor(members.length / 2));',
  },
  {
    name: 'unwritten-token',
    what: 'Redlock: a token is not written to a majority',
    file: `${QUORUM}/write-token.ts`,
    from: 'const decided = await write(context, { key, id, token, batchSize: reserved }, held, states);',
    to: "for (const state of held) state.token = token;\n    const decided = 'written';",
  },
  {
    name: 'vote-from-arrival',
    what: 'Redlock: the lease of a vote counts from the reply, not from the request',
    file: `${QUORUM}/member-state.ts`,
    from: 'this.until = sent + reply.lease;',
    to: 'this.until = now + reply.lease;',
  },
  {
    name: 'vote-of-another-epoch',
    what: 'Redlock: a vote counts although the connection was lost since, and the master may have lost it',
    file: `${QUORUM}/member-state.ts`,
    from: 'return counts && this.until > now && this.epoch === this.member.store.epoch;',
    to: 'return counts && this.until > now;',
  },
  {
    name: 'minority-renewal',
    what: 'Redlock: a renewal counts if one master has confirmed it',
    file: `${QUORUM}/tally.ts`,
    from: 'if (left.length >= quorum) return [...left].sort((a, b) => b - a)[quorum - 1];',
    to: 'if (left.length >= 1) return Math.max(...left);',
  },
  {
    name: 'longest-renewal',
    what: 'Redlock: the longest of the remaining leases counts',
    file: `${QUORUM}/tally.ts`,
    from: 'return [...left].sort((a, b) => b - a)[quorum - 1];',
    to: 'return Math.max(...left);',
  },
  {
    name: 'vote-after-revoke',
    what: 'Redlock: a vote is requested again although the master has ended the hold by force',
    file: `${QUORUM}/reinstatement.ts`,
    from: "if (looks.includes('left')) return this.revoked();\n      await Promise.all(missing.filter((_, i) => looks[i] === 'missing')",
    to: 'await Promise.all(missing.filter((_, i) => looks[i] !== undefined)',
  },
  {
    name: 'ignored-tombstone',
    what: 'Redlock: a master accepts the vote of a hold that was ended by force there',
    file: 'lua/reinstate.lua',
    from: 'if has_tombstone(id) or has_tombstone(revocation(id)) then return -1 end',
    to: '',
  },
  {
    name: 'same-server-twice',
    what: 'Redlock: a server counts twice if the addresses of two masters lead to it',
    file: `${QUORUM}/member.ts`,
    from: 'if (same !== undefined && same !== member && same.isExamined) {',
    to: 'if (same !== undefined && this.members.length === 0) {',
  },
  {
    name: 'no-precedence',
    what: 'Redlock: no caller gives way if several try a free key at the same time',
    file: `${QUORUM}/tie-break.ts`,
    from: 'const first = this.firstAmong(states, now);',
    to: 'const first = states.length === 0 ? this.firstAmong(states, now) : undefined;',
  },
  {
    name: 'endless-sharing',
    what: 'readers join a hold of their client however long ago it was granted',
    file: SHARED,
    from: 'this.isClosed || clock.now() >= this.grantedAt + limits.batch.time',
    to: 'this.isClosed',
  },
  {
    name: 'sharing-after-yield',
    what: 'readers join a hold of their client although another client waits',
    file: SHARED,
    from: 'this.isClosed = true;',
    to: '',
  },
  {
    name: 'first-reader-releases',
    what: 'the first of several readers that share a hold releases it in the store',
    file: 'lib/engine/hold-releases.ts',
    from: 'if (shared?.isEmpty === false) return this.endShare(hold);',
    to: '',
  },
  {
    name: 'lease-for-all-readers',
    what: 'a reader that shortens its lease shortens those of others that share the hold',
    file: 'lib/engine/lease-operations.ts',
    from: 'if (shared === undefined || shared.isOnly(hold)) {',
    to: 'if (shared?.isEmpty !== true) {',
  },
  {
    name: 'release-grants-nobody',
    what: 'a release grants the lock to no waiter',
    file: 'lua/release.lua',
    from: 'return { released, grant_waiters(holds, ended, nil, from) or -1 }',
    to: 'return { released, -1 }',
  },
  {
    name: 'next-before-waiters',
    what: 'a release with the next request grants to no other waiter',
    file: 'lua/shared/try-acquire.lua',
    from: 'if changed or rank == 0 or not is_closed(holds) then more = grant_waiters(holds, ended, request.id, from) end',
    to: '',
  },
  {
    name: 'grant-keeps-ticket',
    what: 'a granted ticket stays in the queue',
    file: 'lua/shared/grant-waiters.lua',
    from: `  local function grant_to(ticket)
    drop_ticket(ticket.id, ticket.batch_size)`,
    to: '  local function grant_to(ticket)',
  },
  {
    name: 'parked-not-looked-at',
    what: 'parked tickets are never granted',
    file: 'lua/shared/grant-waiters.lua',
    from: 'if #holds == 0 and not holds.crowd and not head and not more then',
    to: 'if false then',
  },
  {
    name: 'no-token-per-waiter',
    what: 'a batch reserves one token only',
    file: 'lua/shared/token.lua',
    from: 'remember_token(token + count - 1, lease)',
    to: 'remember_token(token, lease)',
  },
  {
    name: 'token-of-the-clock',
    what: 'a token is the time, even if the last token is larger',
    file: 'lua/shared/token.lua',
    from: 'local token = math.max(last_token() + 1, now_micros)',
    to: 'local token = now_micros',
  },
  {
    name: 'token-of-a-free-key',
    what: 'the same for a key that is free',
    file: 'lua/acquire.lua',
    from: 'if not last or (tonumber(last) or math.huge) < token then',
    to: 'do',
  },
  {
    name: 'no-hold-at-least',
    what: 'a released hold is not kept',
    file: 'lua/release.lua',
    from: 'if kept and keep > 0 then',
    to: 'if false then',
  },
  {
    name: 'renewal-shortens',
    what: 'a renewal may shorten a lease',
    file: 'lua/renew.lua',
    from: 'local renewed = math.max(ends, now + lease)',
    to: 'local renewed = now + lease',
  },
  {
    name: 'renewal-without-ttl',
    what: 'a renewal does not prolong the TTL of the state',
    file: 'lua/renew.lua',
    from: "redis.call('PEXPIREAT', state, integer(math.max(renewed, now + redis.call('PTTL', state))))",
    to: '',
  },
  {
    name: 'offer-keeps-hold',
    what: 'an offered hold stays that of its holder, too',
    file: 'lua/offer.lua',
    from: "redis.call('HDEL', STATE, id)",
    to: '',
  },
  {
    name: 'index-forgets-kinds',
    what: 'with many holds, a writer does not see that there are readers',
    file: 'lua/shared/crowd.lua',
    from: 'return not crowd.is_incomplete and sums[kind] == sums.count',
    to: 'return true',
  },
];

/**
 * These mutations break the simulation itself: such a run has to fail with its seed and the reason, and not to hang.
 * @type {readonly import('../mutations/mutate.mjs').Mutation[]}
 */
export const BREAKAGES = [
  {
    name: 'throwing-server',
    what: 'the server cannot execute a release',
    file: 'simulation/world/server.ts',
    from: 'this.foresee(call);',
    to: "if (call.script === 'release') throw new Error('a script failed');",
  },
  {
    name: 'throwing-step',
    what: 'a client cannot unsubscribe from its channel',
    file: 'simulation/world/server.ts',
    from: 'this.subscribers.delete(channel);',
    to: "throw new Error('a step failed');",
  },
];

/** @param {string} name */
export const findMutation = (name) => [...MUTATIONS, ...BREAKAGES].find((mutation) => mutation.name === name);
