import { failoversBy } from './failovers.mjs';

const lasting =
  (least, most) =>
  ({ random }) => ({ lasts: random.between(least, most) });

/** Faults of a master with a replica, and of the Sentinel that watches over them. */
export const BEHIND_SENTINELS = [
  // The old master acknowledges writes until it becomes a replica, so this breaks the assumption, too.
  ...failoversBy(({ topology }) => topology.askForFailover()),
  {
    name: 'sentinel stopped',
    strikes: 'sentinel',
    plan: lasting(50, 1_200),
    async begin({ topology: { sentinel } }) {
      await sentinel.server.pause();
      return () => sentinel.server.resume();
    },
  },
  {
    name: 'sentinel restarted',
    strikes: 'sentinel',
    plan: lasting(0, 500),
    begin: ({ topology }) => topology.sentinel.restart(),
  },
  {
    name: 'sentinel connections cut',
    strikes: 'sentinel',
    plan: () => ({}),
    begin: ({ topology }) => topology.sentinel.cut(),
  },
];
