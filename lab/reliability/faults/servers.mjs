import { setTimeout as sleep } from 'node:timers/promises';

const SILENCE = 2_000;

/**
 * Faults of the server that serves the measured locks, or, where it says so, of all servers. Some may end in a
 * failover.
 */
export const SERVER_FAULTS = {
  restart: {
    title: 'server killed (SIGKILL), started again at once with its data',
    isLasting: true,
    async inject(topology) {
      const server = await topology.serving();
      await server.kill();
      await server.start();
    },
  },
  'restart-empty': {
    title: 'server killed, started again at once without its data',
    isLasting: true,
    async inject(topology) {
      const server = await topology.serving();
      await server.kill();
      await server.start({ empty: true });
    },
  },
  freeze: {
    title: 'server stopped (SIGSTOP) for 2 s',
    isLasting: true,
    async inject(topology) {
      const server = await topology.serving();
      await server.pause();
      await sleep(SILENCE);
      await server.resume();
    },
  },
  pause: {
    title: '`CLIENT PAUSE 2000 ALL`',
    isLasting: true,
    async inject(topology) {
      const { admin } = await topology.serving();
      await admin.client('PAUSE', SILENCE, 'ALL');
      await sleep(SILENCE);
    },
  },
  'scripts-flushed': {
    title: '`SCRIPT FLUSH` on all servers',
    inject: ({ servers }) => Promise.all(servers.map(({ admin }) => admin.script('FLUSH', 'SYNC'))),
  },
  'subscriptions-killed': {
    title: '`CLIENT KILL TYPE pubsub` on all servers',
    inject: ({ servers }) => Promise.all(servers.map(({ admin }) => admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))),
  },
  'connections-killed': {
    title: 'all connections killed, on all servers',
    inject: ({ servers }) =>
      Promise.all(
        servers.map(async ({ admin }) => {
          await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
          await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        }),
      ),
  },
};
