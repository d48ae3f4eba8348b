import { readBreaks } from './assumptions.mjs';
import { laneOf } from './terms.mjs';
import { validityOf } from './validity.mjs';

/** Event types that belong to an operation, beside its beginning. */
const OUTCOMES = ['ok', 'fail', 'info'];
const MARKS = ['look', 'lost', 'extend', 'release'];
/** What a holder writes: with its token, and one more into a counter. */
const WRITES = { write: 'writes', update: 'updates' };
/** Events that stand for themselves, and events with phases. */
const REST = ['stall', 'surprise', 'left', 'eternal', 'revived', 'pulse', 'down', 'begin', 'end', 'up'];
const PHASED = ['fault', 'failover', 'latch'];
/** The most holders that one grant serves in turn, each with its own token: while no other client waits. */
const TURNS = 1_000;

/**
 * A history as the rules see it: operations with their outcomes, holds with the time in which they were valid, and
 * faults. Nothing of it is judged here.
 */
export function readModel(events) {
  const operations = new Map();
  const phased = Object.fromEntries(PHASED.map((type) => [type, new Map()]));
  const rest = Object.fromEntries(REST.map((type) => [type, []]));
  for (const event of events) {
    const operation = operations.get(event.op);
    if (event.type === 'invoke') {
      const nothingYet = { marks: [], writes: [], updates: [] };
      operations.set(event.op, { ...event, invokedAt: event.at, lane: laneOf(event), ...nothingYet });
    } else if (event.type in phased) {
      const all = phased[event.type];
      all.set(event.id, { ...all.get(event.id), ...event, [event.phase]: event.at });
    } else if (operation !== undefined && OUTCOMES.includes(event.type)) {
      operation.outcome = event;
    } else if (operation !== undefined && MARKS.includes(event.type)) {
      operation.marks.push(event);
    } else if (operation !== undefined && event.type in WRITES) {
      operation[WRITES[event.type]].push(event);
    } else {
      rest[event.type]?.push(event);
    }
  }
  for (const operation of operations.values()) {
    const outer = operations.get(operation.within);
    operation.isGranted = operation.outcome?.type === 'ok';
    operation.reenters = operation.isGranted && outer?.isGranted && outer.outcome.owner === operation.outcome.owner;
    operation.validity = operation.isGranted ? validityOf(operation.marks) : undefined;
  }
  const holds = [...operations.values()].flatMap(holdsOf);
  noteTurns(holds, operations);
  const [faults, failovers, latches] = PHASED.map((type) => [...phased[type].values()]);
  return {
    run: rest.begin[0] ?? {},
    operations: [...operations.values()],
    operation: (op) => operations.get(op),
    ...{ holds, faults, failovers, latches },
    /** The clients that use Redisson. */
    jvms: new Set(rest.up.filter(({ library }) => library === 'redisson').map(laneOf)),
    breaks: readBreaks(faults, failovers),
    ...rest,
  };
}

/** One for each key of an operation whose holds were valid at some time. */
function holdsOf({ invokedAt, outcome, validity, isGranted, reenters, ...operation }) {
  if (!isGranted || reenters || validity.from === undefined) return [];
  const { op, client, lane, keys, mode, units = 1, owner, writes, updates, replicas, marks } = operation;
  return keys.map((key) => ({
    ...{ op, client, lane, key, mode, units, writes, updates, replicas, marks, invokedAt, okAt: outcome.at },
    /** Operations that name the same owner share the lock; every other operation is its own owner. */
    ...{ owner: owner ?? op, isNamed: owner !== undefined, token: outcome.tokens[key] },
    ...{ from: validity.from, to: validity.to },
  }));
}

/**
 * A grant serves several callers of a process in turn, which have its tokens one after the other: their holds count as
 * requested (`askedAt`) when the first of them asked, and as reported (`toldAt`) when the first was.
 */
function noteTurns(holds, operations) {
  for (const each of [...operations.values(), ...holds]) {
    each.askedAt = each.invokedAt;
    each.toldAt = each.okAt ?? each.outcome?.at;
  }
  const firsts = new Map();
  // Without tokens, no grant serves several callers.
  for (const hold of holds
    .filter(({ token }) => token !== undefined)
    .sort((a, b) => a.token - b.token || a.invokedAt - b.invokedAt)) {
    const place = `${hold.client} ${hold.key}`;
    const first = firsts.get(place);
    if (first === undefined || hold.token - first.token >= TURNS) firsts.set(place, hold);
    hold.askedAt = Math.min(hold.invokedAt, firsts.get(place).invokedAt);
    hold.toldAt = Math.min(hold.okAt, firsts.get(place).okAt);
    const operation = operations.get(hold.op);
    operation.askedAt = Math.min(operation.askedAt, hold.askedAt);
    operation.toldAt = Math.min(operation.toldAt, hold.toldAt);
  }
}
