import { explanationOf } from '../assumptions.mjs';
import { excludes } from '../terms.mjs';

/**
 * Which holds of a key may overlap: one exclusive holder, or readers, or permits up to their number. Holders that name
 * the same owner count as one.
 */
export function exclusion(model) {
  const { permits = Infinity } = model.run;
  const found = [];
  for (const holds of byKey(model.holds)) {
    let inside = [];
    for (const hold of holds) {
      inside = inside.filter(({ to }) => to > hold.from);
      for (const other of inside) {
        const rule = conflict(other, hold);
        if (rule !== undefined) found.push(report(model, rule, [other, hold]));
      }
      inside.push(hold);
      const holders = inside.filter(({ mode }) => mode === 'permits');
      const used = holders.reduce((sum, { units }) => sum + units, 0);
      if (hold.mode === 'permits' && used > permits)
        found.push(report(model, 'permits', holders, `${used} of ${permits} permits`));
    }
  }
  return found;
}

function conflict(one, other) {
  if (one.isNamed && one.owner === other.owner) return undefined;
  if (!excludes(one.mode, other.mode)) return undefined;
  const modes = [one.mode, other.mode];
  return modes.includes('permits') ? 'permits' : modes.includes('read') ? 'readers and writers' : 'exclusion';
}

function report(model, rule, holds, what = 'two incompatible holders') {
  const last = holds.at(-1);
  const explanation = holds
    .slice(0, -1)
    .map((other) => explanationOf(model, other, last))
    .find((each) => each !== undefined);
  return {
    rule,
    at: last.from,
    key: last.key,
    message: `${what} held '${last.key}' at the same time: ${holds.map(describe).join(' and ')}`,
    operations: holds.map(({ op }) => op),
    explanation,
  };
}

const describe = ({ op, mode, units, from, to, token }) =>
  `${op} (${mode}${mode === 'permits' ? ` ${units}` : ''}, ${from.toFixed(1)} to ${to.toFixed(1)} ms, token ${token})`;

/** In the order of their beginnings. */
function byKey(holds) {
  const groups = new Map();
  for (const hold of [...holds].sort((a, b) => a.from - b.from)) {
    if (!groups.has(hold.key)) groups.set(hold.key, []);
    groups.get(hold.key).push(hold);
  }
  return groups.values();
}
