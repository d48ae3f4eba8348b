import { LOST } from '../../checker/assumptions.mjs';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../testbed/wait/eventually.mjs';
import { atOnce, planned } from './servers.mjs';

/**
 * Sentinels and Clusters try again if no master was elected; the caller that asked for the failover has to ask again.
 */
const ELECTED = { within: 10_000, every: 20, what: 'a new master' };
const ATTEMPTS = 6;

/**
 * A kind of fault that ends with another master. It waits until there is a replica to become one: that of the last
 * failover may still be on its way.
 */
const failover = ({ strike, force, heal, ...kind }) => ({
  strikes: 'server',
  async ready({ topology, servers }, { server }) {
    await topology.untilWhole().catch(async (error) => {
      throw new Error(`${error.message}: ${await topology.state()}`);
    });
    await servers[server].recognise();
  },
  ...kind,
  async begin(world, { server, lingers = 0 }) {
    const pair = world.servers[server];
    const old = pair.master;
    await strike?.(pair);
    return async () => {
      await replaced(world, pair, old, () => force?.(world, pair));
      await sleep(lingers);
      await heal?.(pair);
    };
  },
});

async function replaced({ topology }, pair, old, force) {
  for (let attempt = 1; pair.master === old; attempt++) {
    // The replica may be the master by now.
    await force()?.catch((error) => error.name === 'ReplyError' || Promise.reject(error));
    await eventually(() => pair.master !== old, ELECTED).catch(async (error) => {
      if (attempt === ATTEMPTS) throw new Error(`${error.message}: ${await topology.state()}`);
    });
  }
}

/** Faults of masters that have a replica. `force` makes that take over, whether the master agrees or not. */
export const failoversBy = (force) => [
  failover({
    name: 'master killed',
    breaks: LOST,
    plan: planned(0, 500),
    strike: (pair) => pair.kill(),
    heal: (pair) => pair.start(),
  }),
  failover({
    name: 'master stopped for long',
    breaks: LOST,
    plan: planned(0, 300),
    strike: (pair) => pair.pause(),
    heal: (pair) => pair.resume(),
  }),
  failover({
    name: 'replication cut before a failover',
    breaks: LOST,
    plan: planned(100, 700),
    strike: (pair) => pair.cutReplication(),
    force,
    heal: (pair) => pair.mendReplication(),
  }),
  failover({ name: 'failover forced', breaks: LOST, plan: atOnce, force }),
  {
    name: 'replication cut',
    strikes: 'server',
    plan: planned(100, 1_000),
    async begin(world, { server }) {
      const pair = world.servers[server];
      await pair.cutReplication();
      return () => pair.mendReplication();
    },
  },
];

/** A failover in which the old master waits until its replica knows all that it has acknowledged. */
export const agreedFailover = (ask) =>
  failover({ name: 'failover agreed on', lossless: true, plan: atOnce, force: ask });

/**
 * A frozen master whose replica has all that it has acknowledged. When it resumes, clients hold locks of the new master, and
 * its backlog grants them once more.
 */
export const thawedMaster = failover({
  name: 'master stopped and replaced',
  lossless: true,
  plan: (scope) => ({ ...atOnce(scope), lingers: scope.random.between(100, 600) }),
  strike: (pair) => pair.pause(),
  heal: (pair) => pair.resume(),
});
