import { readModel } from './model.mjs';
import { beliefs } from './rules/beliefs.mjs';
import { exclusion } from './rules/exclusion.mjs';
import { fencing } from './rules/fencing.mjs';
import { latches } from './rules/latches.mjs';
import { remains } from './rules/remains.mjs';
import { service } from './rules/service.mjs';
import { tokens } from './rules/tokens.mjs';
import { waiting } from './rules/waiting.mjs';

const RULES = [exclusion, tokens, fencing, waiting, service, beliefs, latches, remains];

/**
 * Judges a history: what must not happen and did (`violations`), and what did because an assumption had been broken on
 * purpose (`excused`, each with the `assumption` and the number of the `fault`). A pure function.
 */
export function check(events) {
  const model = readModel(events);
  const found = RULES.flatMap((rule) => rule(model)).sort((a, b) => a.at - b.at);
  return {
    violations: found.filter(({ excuse }) => excuse === undefined),
    excused: found
      .filter(({ excuse }) => excuse !== undefined)
      .map(({ excuse, ...rest }) => ({ ...rest, assumption: excuse.assumption, fault: excuse.fault })),
    model,
  };
}
