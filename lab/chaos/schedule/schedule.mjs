import { Random } from './random.mjs';

/**
 * @typedef {object} PlannedFault
 * @property {number} id
 * @property {string} kind
 * @property {number} at ms from the start of the run
 * @property {boolean} alone
 * @property {number} [lasts]
 * @property {number} [takes] ms from its beginning to its end, where that is more than `lasts`
 *
 * @typedef {object} FaultScope
 * @property {number} seed
 * @property {number} length
 * @property {readonly object[]} kinds
 * @property {readonly string[]} clients
 * @property {number} servers
 * @property {number} [networks] how many places with servers there are between which and a client the network can fail;
 *   default: `servers`
 * @property {readonly string[]} keys
 * @property {number} longestLease in ms
 */

/** ms before the first fault, and without faults at the end. */
const WARM_UP = 600;
const CALM_END = 400;

/**
 * Which faults happen, when, and to which targets: decided by the seed alone. Times are ms from the start of the run.
 *
 * Half of the time a fault comes alone and is followed by some calm, so that the time until service was normal can be
 * measured; otherwise several come at once. Every kind has its turn before one is repeated. A kind with a `rest` leaves
 * that many ms between its end and the next one of such a kind, in which clients can connect again.
 * @param {FaultScope} scope
 * @returns {PlannedFault[]}
 */
export function planFaults({ seed, length, kinds, clients, servers, networks = servers, keys, longestLease }) {
  const random = new Random(seed, 'faults');
  const scope = { random, clients, servers, networks, keys, longestLease };
  const faults = [];
  let bag = [];
  let restUntil = 0;
  const add = (earliest, alone) => {
    if (bag.length === 0) bag = random.shuffled(kinds);
    const { name, plan, rest } = bag.pop();
    const at = rest === undefined ? earliest : Math.max(earliest, restUntil);
    const fault = { id: faults.length + 1, kind: name, at, alone, ...plan(scope) };
    faults.push(fault);
    const end = at + (fault.takes ?? fault.lasts ?? 0);
    if (rest !== undefined) restUntil = end + rest;
    return end;
  };
  for (let at = WARM_UP; at < length - CALM_END;) {
    if (random.chance(0.5)) {
      at = add(at, true) + random.between(700, 1_600);
    } else {
      const count = random.between(2, 4);
      let end = at;
      for (let i = 0; i < count; i++) end = Math.max(end, add(at + random.between(0, 500), false));
      at = end + random.between(200, 900);
    }
  }
  return faults.sort((a, b) => a.at - b.at);
}
