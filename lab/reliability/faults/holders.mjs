import { LEASE } from '../roles/services.mjs';

/** The name of the lock in the holder's process. */
export const HELD = 'held';

/** Faults of a process that holds a key for which another one waits; see `measure-holder.mjs`. */
export const HOLDER_FAULTS = {
  'holder-killed': {
    title: `holder killed (SIGKILL), lease ${LEASE / 1_000} s`,
    ofHolder: (holder) => holder.kill(),
    seenAfter: async () => undefined,
  },
  'holder-stalled': {
    title: `holder stopped (SIGSTOP) beyond its lease of ${LEASE / 1_000} s`,
    ofHolder: async (holder) => holder.pause(),
    async seenAfter(holder) {
      holder.resume();
      return holder.call('view', HELD);
    },
  },
};
