import { explanationOf, forgottenBetween } from '../assumptions.mjs';
import { excludes } from '../terms.mjs';

/**
 * Fencing tokens grow between holds that exclude each other, by three rules: a caller that asks after such a hold was granted
 * always gets a larger one;
 * exclusive holders have them in the order of their holds; and a re-entrant acquisition has the token of the hold.
 */
export const tokens = (model) => [...growth(model), ...order(model), ...reentry(model)];

/**
 * The rule assumes only that the servers' clocks agree: where these differ, a server has to remember the last token.
 */
function growth(model) {
  const { operations } = model;
  const granted = operations.filter(({ isGranted, reenters }) => isGranted && !reenters);
  const steps = granted
    .flatMap((operation) =>
      operation.keys.flatMap((key) => [
        { at: operation.invokedAt, key, operation },
        { at: operation.outcome.at, key, operation, token: operation.outcome.tokens[key] },
      ]),
    )
    .sort((a, b) => a.at - b.at);
  const found = [];
  const largest = new Map();
  const floors = new Map();
  for (const { key, operation, token } of steps) {
    const id = `${operation.op} ${key}`;
    if (token === undefined) {
      floors.set(id, largestOf(largest.get(key), operation.mode));
      continue;
    }
    const floor = floors.get(id);
    if (floor !== undefined && token <= floor.token) {
      const later = { op: operation.op, at: operation.outcome.at, token };
      const explanation = forgottenBetween(model, floor, later);
      found.push({ ...falls(key, floor, later, 'and was asked for later'), explanation });
    }
    const ofKey = largest.get(key) ?? new Map();
    if (token > (ofKey.get(operation.mode)?.token ?? -1)) {
      ofKey.set(operation.mode, { op: operation.op, token, askedAt: operation.askedAt });
    }
    largest.set(key, ofKey);
  }
  return found;
}

/** Readers of one client may share a hold and its token, and so do callers for permits. So their own kind does not count. */
function largestOf(ofKey = new Map(), mode = 'exclusive') {
  const others = [...ofKey].filter(([kind]) => excludes(mode, kind)).map(([, grant]) => grant);
  return others.sort((a, b) => b.token - a.token)[0];
}

function order(model) {
  const found = [];
  /**
   * For each key the holds with the largest tokens so far, of two different owners: one of them is not the next holder.
   */
  const largest = new Map();
  const exclusive = model.holds.filter(({ mode }) => mode === 'exclusive').sort((a, b) => a.from - b.from);
  for (const hold of exclusive) {
    const before = largest.get(hold.key) ?? [];
    const other = before.find(({ owner }) => owner !== hold.owner);
    if (other !== undefined && hold.token <= other.token) {
      const later = { ...hold, at: hold.from };
      const explanation = explanationOf(model, other, hold) ?? forgottenBetween(model, other, later);
      found.push({ ...falls(hold.key, other, later, 'and held it later'), explanation });
    }
    largest.set(hold.key, twoOfDifferentOwners([...before, hold]));
  }
  return found;
}

function reentry({ operations, operation }) {
  return operations
    .filter(({ reenters }) => reenters)
    .filter(({ keys, within, outcome }) => outcome.tokens[keys[0]] !== operation(within).outcome.tokens[keys[0]])
    .map(({ op, within, keys, outcome }) => ({
      rule: 'tokens',
      at: outcome.at,
      key: keys[0],
      message: `${op} re-entered the hold of ${within} on '${keys[0]}' and has another token`,
      operations: [within, op],
    }));
}

function twoOfDifferentOwners(holds) {
  const sorted = [...holds].sort((a, b) => b.token - a.token);
  const second = sorted.find(({ owner }) => owner !== sorted[0].owner);
  return second === undefined ? [sorted[0]] : [sorted[0], second];
}

const falls = (key, earlier, later, how) => ({
  rule: 'tokens',
  at: later.at,
  key,
  message: `tokens of '${key}' do not grow: ${earlier.op} had ${earlier.token}; ${later.op} has ${later.token}, ${how}`,
  operations: [earlier.op, later.op],
});
