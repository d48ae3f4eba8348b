import { BACKGROUND_CASES } from './background-cases.js';
import { EXCLUSIVE_CASES } from './exclusive-cases.js';
import type { ContractCase, LockStoreHarness } from './harness.js';
import { HANDOVER_CASES } from './handover-cases.js';
import { IDENTITY_CASES } from './identity-cases.js';
import { LATCH_CASES } from './latch-cases.js';
import { NETWORK_CASES } from './network-cases.js';
import { PERMIT_CASES } from './permit-cases.js';
import { PORT_CASES } from './port-cases.js';
import { SHARED_CASES } from './shared-cases.js';
import { SLOT_CASES } from './slot-cases.js';
import { Stage } from './stage.js';
import { WAITING_CASES } from './waiting-cases.js';

const CASES = {
  ...EXCLUSIVE_CASES,
  ...BACKGROUND_CASES,
  ...WAITING_CASES,
  ...IDENTITY_CASES,
  ...SHARED_CASES,
  ...PERMIT_CASES,
  ...SLOT_CASES,
  ...LATCH_CASES,
  ...HANDOVER_CASES,
  ...PORT_CASES,
};

/**
 * The behaviour that every store must have, as cases for any test runner. They compare the library's answers with the
 * state of the backend. Each case uses its own keys and clients, and leaves nothing behind.
 */
export function lockStoreContract(harness: LockStoreHarness): ContractCase[] {
  const cases = harness.deliversOnce === true ? CASES : { ...CASES, ...NETWORK_CASES };
  return Object.entries(cases).map(([name, play]) => ({
    name,
    run: async () => {
      const stage = new Stage(harness);
      try {
        await play(stage);
        await stage.nothingIsLeft();
      } finally {
        await stage.close();
      }
    },
  }));
}
