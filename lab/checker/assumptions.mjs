import { laneOf } from './terms.mjs';

/** The assumption about a master: a replica that takes over has every write that the master acknowledged. */
export const LOST = 'master lost before replicating';

/** ms within which a client has left a master for the announced new master. */
const FOLLOWS = 1_000;
/** ms after a fault within which a client that lost a connection may not have a new one. */
const CONNECTS = 2_000;
/** ms by which a replica may be behind when nothing is wrong. */
const LAG = 50;
/** Of several masters: that so many of them remember the last token, if their clocks differ. */
const REMEMBERED = 'tokens remembered';
/** ms after which a client knows that a master from which it had a vote is gone. */
const NOTICES = 150;
/** ms after which a client knows of a grant: it asks by itself if it was not notified. */
const KNOWS = 1_000;
/** ms after which a client whose connection is back knows its holds: it asks for them first of all. */
const ANSWERED = 300;

/**
 * The events that broke an assumption of the docs, with their time and their keys (or all keys): faults by themselves,
 * and failovers of any cause.
 */
export function readBreaks(faults, failovers) {
  return [
    ...faults.filter(({ breaks }) => breaks !== undefined && breaks !== LOST).map(breakByFault),
    ...failovers.map((failover) => breakByFailover(failover, causeOf(failover, faults))).filter(Boolean),
  ];
}

const breakByFault = ({ id, kind, breaks, breaksUntil, key, begin, active = begin, end = Infinity }) => ({
  ...{ fault: id, kind, assumption: breaks, active },
  ...{ keys: key && [key], from: begin, to: breaksUntil === 'active' ? active : end },
});

/** `undefined` if the old master waited until its replica had all writes. */
function breakByFailover({ keys, from, told, end = Infinity }, cause) {
  if (cause?.lossless && from <= cause.end) return undefined;
  return {
    ...{ fault: cause?.id ?? 'none', kind: cause?.kind ?? 'a machine that was too slow', assumption: LOST },
    /** The old master may continue to acknowledge writes until `to`, but clients that know of the new one do not ask it. */
    ...{ keys, from, to: end, told },
    /** From this time on, acknowledged writes may not have been replicated. */
    unknownFrom: Math.min(from, cause?.begin ?? from) - LAG,
  };
}

/** The last fault that struck the master before it was replaced. */
export const causeOf = ({ server, begin }, faults) =>
  faults.findLast((fault) => fault.strikes === 'server' && fault.server === server && fault.begin <= begin);

/**
 * The break, if there is one, that may have erased one of two overlapping holds of a key before the other one was
 * granted: it came after the first was requested, and before the second was reported to its caller.
 */
export function explanationOf(model, one, other) {
  const forgets = (forgotten, next) => (each) =>
    concerns(each, [next.key]) &&
    endOf(each, forgotten, model) > forgotten.askedAt &&
    each.from < next.from &&
    !isVotedAnew(forgotten, each, model) &&
    !isGrantedLater(forgotten, each, model) &&
    !isAskedAbout(forgotten, each, next.from, model) &&
    !isKnown(forgotten, each, next.from);
  return model.breaks.find(forgets(one, other)) ?? model.breaks.find(forgets(other, one));
}

/** The break by which a hold may have been taken from its holder before `at`. */
export function takenBy(model, operation, at) {
  return model.breaks.find(
    (each) =>
      concerns(each, operation.keys) &&
      endOf(each, operation, model) > operation.askedAt &&
      each.from < at &&
      !isGrantedLater(operation, each, model) &&
      !isKnown(operation, each, at),
  );
}

/**
 * Whether tokens may have fallen from one operation to the next: masters with clocks of their own forgot the last one in
 * between. If the clocks agree, nothing explains that.
 */
export function forgottenBetween({ faults, run }, earlier, later) {
  if (run.skews === undefined) return undefined;
  const fault = faults.find(({ forgets, begin, end }) => forgets && begin < later.at && !(end < earlier.askedAt));
  return fault && { assumption: REMEMBERED, fault: fault.id };
}

/**
 * With several masters: whether a hold was reported so long after one of them lost its data that the client knew of the
 * loss. Votes from before do not count any more, so it had a majority without them.
 */
function isVotedAnew({ lane, toldAt }, { assumption, from, active }, model) {
  if (model.run.skews === undefined || assumption !== 'restart without persistence' || toldAt < active + NOTICES)
    return false;
  return !isStruck(model, lane, from, toldAt);
}

/** Whether a hold was reported so long after a forced release that it cannot be one of the holds that it ended. */
function isGrantedLater({ lane, toldAt }, { assumption, to }, model) {
  return assumption === 'force release' && toldAt >= to + KNOWS && !isStruck(model, lane, to, toldAt);
}

/**
 * Whether the holder had asked the new master of a Sentinel about its hold by then. Its pulse holds a lock of that
 * master; and the validity of its hold is limited to the state that the master reports.
 */
function isAskedAbout({ lane }, each, at, model) {
  if (each.assumption !== LOST || each.told === undefined) return false;
  const left = endOf(each, { lane }, model);
  const first = model.pulse.find(({ ok, from, client }) => ok && from >= left && laneOf({ client }) === lane);
  return first !== undefined && at > first.at + ANSWERED && !isStruck(model, lane, left, at);
}

/** Whether something kept a client from hearing and asking between two moments: its process did not run, or a fault. */
function isStruck({ faults, stall }, lane, from, to, isOfClient = ({ client }) => client === lane) {
  const meets = (begin, end = Infinity) => begin < to && end > from;
  return (
    faults.some((fault) => isOfClient(fault) && meets(fault.begin, fault.end)) ||
    stall.some((each) => laneOf(each) === lane && meets(each.from, each.to))
  );
}

/** The break that may have taken data of all keys from a master between two moments. */
export const lossBetween = ({ breaks }, from, to) =>
  breaks.find(
    (each) => each.assumption !== 'force release' && each.keys === undefined && each.from < to && each.to > from,
  ) ?? breaks.find((each) => each.assumption === LOST && each.from < to && each.to > from);

const concerns = (each, keys) => each.keys === undefined || keys.some((key) => each.keys.includes(key));

/**
 * Until when a break concerns an operation: a client that could not learn of a new master may have stayed with the old
 * one. Redisson may use the old one until that is a replica, whatever it has learned.
 */
function endOf({ from, to, told }, { lane }, model) {
  if (told === undefined || model.jvms.has(lane)) return to;
  const mayNotLearn = ({ client, strikes }) => client === lane || strikes === 'sentinel';
  return isStruck(model, lane, from - CONNECTS, to, mayNotLearn) ? to : Math.min(to, told + FOLLOWS);
}

/**
 * Whether a new master knew of a hold at that time although the old one is lost: a replica had confirmed the hold
 * before it was reported. Renewals do not wait for that, so only renewals from before the break count.
 */
function isKnown({ replicas, marks }, { assumption, unknownFrom }, at) {
  if (replicas === undefined || assumption !== LOST) return false;
  const looks = marks.filter(({ type, held }) => type === 'look' && held);
  const known = looks.filter((look, i) => i === 0 || look.at < unknownFrom).map(({ until }) => until);
  return at < Math.max(...known);
}
