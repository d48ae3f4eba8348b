import { readModel } from './model.mjs';
import { validity } from './rules/validity.mjs';
import { exclusion } from './rules/exclusion.mjs';
import { fencing } from './rules/fencing.mjs';
import { latches } from './rules/latches.mjs';
import { remains } from './rules/remains.mjs';
import { service } from './rules/service.mjs';
import { tokens } from './rules/tokens.mjs';
import { updates } from './rules/updates.mjs';
import { waiting } from './rules/waiting.mjs';

/**
 * A line of a history. `at` is in ms, on a clock that all processes share.
 * @typedef {{ readonly at: number, readonly type: string, readonly [detail: string]: unknown }} ChaosEvent
 *
 * @typedef {object} Finding
 * @property {string} rule
 * @property {number} at
 * @property {number} [since] the beginning of the time that the finding is about, if it is about one; `at` is its end
 * @property {string} [key]
 * @property {string} message
 * @property {readonly string[]} operations the operations concerned
 *
 * A finding that is explained by an assumption that was broken on purpose.
 * @typedef {Finding & { readonly assumption: string, readonly fault: number }} ExplainedFinding
 *
 * @typedef {object} Verdict
 * @property {readonly Finding[]} violations
 * @property {readonly ExplainedFinding[]} explained
 * @property {object} model the history as the rules and the summary read it
 */

const RULES = [exclusion, tokens, fencing, updates, waiting, service, validity, latches, remains];

/**
 * Judges holds that a test has recorded without operations and faults: which of them overlap, and their tokens.
 * @param {ReadonlyArray<{ op: string, key: string, mode: string, from: number, to: number, token?: number }>} holds times in ms
 * @param {{ permits?: number }} [run]
 * @returns {readonly Finding[]}
 */
export function checkHolds(holds, run = {}) {
  const complete = holds.map((hold) => ({
    ...{ units: 1, owner: hold.op, isNamed: false, client: hold.op, lane: hold.op },
    ...{ invokedAt: hold.from, okAt: hold.from, askedAt: hold.from, toldAt: hold.from, ...hold },
  }));
  const model = { ...readModel([]), run, holds: complete };
  return [...exclusion(model), ...tokens(model)];
}

/**
 * Judges a history: forbidden events that happened (`violations`), and forbidden events that happened because an
 * assumption had been broken on purpose (`explained`, each with the `assumption` and the number of the `fault`). A pure
 * function.
 * @param {readonly ChaosEvent[]} events
 * @returns {Verdict}
 */
export function check(events) {
  const model = readModel(events);
  const found = RULES.flatMap((rule) => rule(model)).sort((a, b) => a.at - b.at);
  return {
    violations: found.filter(({ explanation }) => explanation === undefined),
    explained: found
      .filter(({ explanation }) => explanation !== undefined)
      .map(({ explanation, ...rest }) => ({ ...rest, assumption: explanation.assumption, fault: explanation.fault })),
    model,
  };
}
