import { FAILOVERS } from './failovers.mjs';
import { FROZEN } from './frozen.mjs';
import { HOLDER_FAULTS } from './holders.mjs';
import { LINK_FAULTS } from './links.mjs';
import { MASTER_FAULTS } from './masters.mjs';
import { SERVER_FAULTS } from './servers.mjs';

/**
 * `title`, and `inject(topology)`, which resolves when the fault has been injected completely; `isLasting`: the
 * topology stays changed afterwards; `needs`: the start options of the topology.
 * @type {Readonly<Record<string, { readonly title: string }>>}
 */
export const FAULTS = {
  ...SERVER_FAULTS,
  ...HOLDER_FAULTS,
  ...FAILOVERS,
  ...FROZEN,
  ...MASTER_FAULTS,
  ...LINK_FAULTS,
};
