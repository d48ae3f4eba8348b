import { StepFailed } from '../../../scripts/lib/run.mjs';

/** One file each; see README.md for the interface of such a file. */
const TOPOLOGIES = {
  single: () => import('./single.mjs'),
  endpoint: () => import('./endpoint.mjs'),
  redlock: () => import('./redlock.mjs'),
  'redlock-5': () => import('./redlock-5.mjs'),
  sentinel: () => import('./sentinel.mjs'),
  cluster: () => import('./cluster.mjs'),
  redisson: () => import('./redisson.mjs'),
  'redisson-sentinel': () => import('./redisson-sentinel.mjs'),
};

export const TOPOLOGY_NAMES = Object.keys(TOPOLOGIES);

/**
 * @throws StepFailed where there is no such topology
 * @param {string} name
 * @returns {Promise<object>}
 */
export async function loadTopology(name) {
  if (Object.hasOwn(TOPOLOGIES, name)) return TOPOLOGIES[name]();
  throw new StepFailed(`--topology: there is no ${name}; there are ${TOPOLOGY_NAMES.join(', ')}`);
}
