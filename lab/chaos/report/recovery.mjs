import { laneOf } from '../../checker/terms.mjs';

/**
 * How long it took from each isolated fault until service was normal again: each client that was struck acquired and
 * released a lock of its own (its pulse), requested when the fault was already in force; and each key that a stopped or
 * killed client had held was acquired again. A fault that is not felt takes as long as a pulse.
 */
export function recoveries(model) {
  const { faults } = model;
  // It was planned to be alone; that it was is for the history to say: one before it may have taken longer than planned.
  const isAlone = ({ id, begin }) =>
    !faults.some((other) => other.id !== id && other.begin < begin && !(other.end <= begin));
  return faults
    .filter((fault) => fault.alone && fault.active !== undefined && isAlone(fault))
    .map((fault) => recoveryFrom(fault, model));
}

function recoveryFrom(fault, model) {
  const lanes = model.run.clients.filter(strikes(fault));
  const moments = [...lanes.map((lane) => nextPulse(model, lane, fault.active)), ...nextHolds(model, fault)];
  const isOver = moments.every((moment) => moment !== undefined);
  const at = isOver ? Math.max(...moments) : undefined;
  return {
    ...{ fault: fault.id, kind: fault.kind, begin: fault.begin, lasted: fault.end - fault.begin },
    /** ms from the beginning of the fault; for lasting faults, ms from their end, too. `undefined`: never. */
    ...{ took: isOver ? at - fault.begin : undefined, tookAfterEnd: isOver ? Math.max(0, at - fault.end) : undefined },
    ...outcomeOfHolds(fault, model),
  };
}

/** How many locks were held and renewed when the fault began, and how many of them their holders have lost. */
function outcomeOfHolds({ client, begin }, { holds, operation }) {
  const isLasting = ({ op, marks }) => operation(op).renews && marks.every(({ type }) => type !== 'extend');
  const held = holds.filter(
    (hold) => hold.from <= begin && hold.to >= begin && hold.lane !== client && isLasting(hold),
  );
  const lost = held.filter(({ marks }) => marks.some(({ type, at }) => type === 'lost' && at >= begin)).length;
  return { kept: held.length - lost, lost };
}

/** The clients that are struck: if a client was killed, the survivors. */
const strikes =
  ({ client, kind }) =>
  (lane) =>
    client === undefined || (kind === 'client killed' ? lane !== client : lane === client);

function nextPulse({ pulse }, lane, since) {
  return pulse.find((each) => laneOf(each) === lane && each.ok && each.from >= since)?.at;
}

function nextHolds({ holds, run }, { kind, client, begin }) {
  if (kind !== 'client killed' && kind !== 'client stopped') return [];
  const struck = holds.filter((hold) => hold.lane === client && hold.from <= begin && hold.to >= begin);
  const keys = run.keys.filter((key) => struck.some((hold) => hold.key === key && hold.mode === 'exclusive'));
  return keys.map((key) =>
    minimum(holds.filter((hold) => hold.key === key && hold.okAt > begin).map(({ okAt }) => okAt)),
  );
}

const minimum = (numbers) => (numbers.length === 0 ? undefined : Math.min(...numbers));

/** For each kind of fault: how often, and the median and the worst of both times. */
export function summariseRecoveries(each) {
  const kinds = [...new Set(each.map(({ kind }) => kind))].sort();
  return kinds.map((kind) => {
    const ofKind = each.filter((recovery) => recovery.kind === kind);
    const over = ofKind.filter(({ took }) => took !== undefined);
    const sum = (of) => ofKind.reduce((all, recovery) => all + of(recovery), 0);
    return {
      ...{ kind, count: ofKind.length, never: ofKind.length - over.length },
      ...{ kept: sum(({ kept }) => kept), lost: sum(({ lost }) => lost) },
      fromBegin: spread(over.map(({ took }) => took)),
      fromEnd: spread(over.map(({ tookAfterEnd }) => tookAfterEnd)),
    };
  });
}

/** The duration of a pulse while no fault is in force: as quick as the machine is. */
export function calmPulse({ pulse, faults }) {
  const isCalm = ({ from, at }) => !faults.some(({ begin, end }) => begin < at && !(end <= from));
  return spread(pulse.filter((each) => each.ok && isCalm(each)).map(({ from, at }) => at - from));
}

function spread(numbers) {
  const sorted = numbers.map(Math.round).sort((a, b) => a - b);
  return { median: sorted[Math.floor((sorted.length - 1) / 2)], worst: sorted.at(-1) };
}
