import { StepFailed } from '../../scripts/lib/run.mjs';

/** One file each; see README.md for what such a file has to offer. */
const TOPOLOGIES = {
  single: () => import('./single.mjs'),
  redlock: () => import('./redlock.mjs'),
};
/** Of these there are no files yet. */
const PLANNED = ['sentinel', 'cluster'];

export const TOPOLOGY_NAMES = [...Object.keys(TOPOLOGIES), ...PLANNED];

/** @throws StepFailed where there is no such topology, or not yet */
export async function loadTopology(name) {
  if (Object.hasOwn(TOPOLOGIES, name)) return TOPOLOGIES[name]();
  const are = Object.keys(TOPOLOGIES).join(', ');
  if (PLANNED.includes(name))
    throw new StepFailed(`--topology ${name}: chaos cannot start it yet; it can start ${are}`);
  throw new StepFailed(`--topology: there is no ${name}; there are ${are}`);
}
