import { setTimeout as sleep } from 'node:timers/promises';
import { LEASE } from '../roles/services.mjs';

/** Faults of some of several independent masters. */
export const MASTER_FAULTS = {
  'one-killed': {
    title: 'one of three masters killed; it stays away',
    isLasting: true,
    inject: ({ servers: [first] }) => first.kill(),
  },
  'two-killed': {
    title: `two of three masters killed; started again without their data after the longest lease (${LEASE / 1_000} s)`,
    async inject({ servers }) {
      const dead = servers.slice(0, 2);
      await Promise.all(dead.map((server) => server.kill()));
      await sleep(LEASE);
      await Promise.all(dead.map((server) => server.start({ empty: true })));
    },
  },
};
