import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StepFailed } from '../../../scripts/lib/run.mjs';
import { clockSince } from '../../testbed/history/clock.mjs';
import { WorkerProcess } from '../../testbed/workers/processes.mjs';
import { startCounters } from '../clients/counters.mjs';
import { mergeHistories } from '../history/merge.mjs';
import { HistoryWriter } from '../history/writer.mjs';
import { callersOf, longestLease, permitsOf } from '../schedule/operations.mjs';
import { planFaults } from '../schedule/schedule.mjs';
import { loadTopology } from '../topologies/index.mjs';
import { OPERATOR } from '../topologies/networks.mjs';
import { Client } from './client.mjs';
import { Injector } from './injector.mjs';
import { LeftoverWatch } from './leftovers.mjs';
import { slowness } from './machine.mjs';

/**
 * @typedef {object} ChaosOptions
 * @property {number} seed
 * @property {number} length ms of faults
 * @property {string} topology
 * @property {import('../../testbed/servers/redis-process.mjs').RedisInstallation} installation
 * @property {boolean} [onlyKept] only faults that leave the assumptions of the docs alone
 * @property {readonly string[]} [only] only faults of these names
 * @property {string} [holders] only callers of this sort
 * @property {boolean} [bothClients] every other process connects with node-redis
 * @property {boolean} [defaultTimeouts] with the time-outs that the library has by default
 * @property {(text: string) => void} [say]
 */

const OPERATOR_PROCESS = new URL('../clients/operator.mjs', import.meta.url);
const KEYS = ['red', 'green', 'blue'];
/** For which key all clients stand for election, and at which latch they wait. */
const CROWN = 'crown';
const GATE = 'gate';
const CLIENTS = ['c1', 'c2', 'c3', 'c4'];
/** Short, so that much happens (longer on a busy machine); or the library's own, with a lease that ends before the next fault or two. */
const SHORT = { renewedLease: 500, commandTimeout: 700, grantTimeout: 300 };
const DEFAULT = { renewedLease: 3_000 };
/** ms after the last fault in which clients connect again: until then their calls fail. */
const RECONNECTS = 1_000;
/**
 * ms in which a key must be acquired once all faults are over: leases of dead processes, places in queues that no
 * client asks for any more.
 */
const NORMAL_AGAIN = 15_000;
/**
 * ms after which the run no longer waits for a client that has not ended: its history shows the outcomes that it never
 * reported.
 */
const GIVEN_UP = 2 * NORMAL_AGAIN;

/**
 * Why the topology cannot have these clients.
 * @param {string} name @param {any} topology @param {Pick<ChaosOptions, 'bothClients' | 'holders'>} options
 */
function refusal(name, topology, { bothClients, holders }) {
  const isRedisson = topology.protocol !== undefined;
  if (bothClients && (isRedisson || topology.sentinel !== undefined))
    return `--both-clients: on ${name}, connections are addresses, and ioredis opens them`;
  return isRedisson && holders !== undefined
    ? `--holders: clients on ${name} have callers of one kind for each key`
    : undefined;
}

/**
 * One run: starts servers and clients, makes faults, ends all, and answers the history. `length` is in ms.
 * @param {ChaosOptions} options
 * @returns {Promise<import('../../checker/check.mjs').ChaosEvent[]>}
 */
export async function runChaos({ topology: name, installation, ...options }) {
  const { start, CLIENTS: names = CLIENTS } = await loadTopology(name);
  const directory = mkdtempSync(join(tmpdir(), 'locks-chaos-'));
  const origin = process.hrtime.bigint();
  const now = clockSince(origin);
  const history = new HistoryWriter(join(directory, 'run.jsonl'), now);
  const topology = await start({ installation, clients: names, keys: [...KEYS, CROWN, GATE], seed: options.seed });
  const why = refusal(name, topology, options);
  if (why !== undefined) {
    await topology.stop();
    throw new StepFailed(why);
  }
  const timeouts = options.defaultTimeouts ? DEFAULT : stretched(SHORT, slowness());
  const shared = { ...options, topology, timeouts, history, now, directory, origin: String(origin) };
  const run = {
    ...shared,
    clients: clientsOf(names, shared),
    operator: new WorkerProcess(OPERATOR_PROCESS),
    leftovers: new LeftoverWatch(topology, history),
  };
  const play = async () => {
    await begin(run);
    await makeFaults(run);
    await settle(run);
  };
  try {
    // What has happened before a failure of the run is worth a check.
    await play().catch((error) => {
      if (error instanceof StepFailed) throw error;
      history.note('surprise', { client: 'run', text: error.stack });
    });
    return mergeHistories(directory);
  } finally {
    run.leftovers.stop();
    await Promise.all([...run.clients.values()].map((client) => client.end()));
    await run.operator.kill();
    await topology.stop();
    history.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

const stretched = (timeouts, factor) =>
  Object.fromEntries(Object.entries(timeouts).map(([name, ms]) => [name, Math.round(ms * factor)]));

function clientsOf(names, { topology, timeouts, bothClients = false, directory, history, origin, seed, holders }) {
  const { protocol, lendsClients } = topology;
  const counters = topology.hasCounters ? join(directory, 'counters') : undefined;
  if (counters !== undefined) startCounters(counters, [...KEYS, CROWN]);
  const settings = {
    ...{ directory, history, origin, seed, holders, counters, lendsClients },
    ...{ keys: KEYS, kinds: topology.lockKinds, loops: callersOf(holders), crown: CROWN },
    // A crowd keeps the machine so busy that a latch may outlive the run.
    gate: topology.keepsLatches === false || holders === 'crowd' ? undefined : GATE,
  };
  const clientOf = (name, i) => {
    const options = { ...timeouts, protocol, connection: topology.connectionOf(name) };
    const isNodeRedis = bothClients && i % 2 === 1;
    return new Client(name, { ...settings, isNodeRedis, options, create: topology.processOf?.(name, history) });
  };
  return new Map(names.map((name, i) => [name, clientOf(name, i)]));
}

async function begin({ topology, clients, operator, leftovers, history, now, seed, length, timeouts, holders }) {
  const near = { ...timeouts, protocol: topology.protocol, connection: topology.connectionOf() };
  const resolved = await operator.call('start', near, topology.connectionOf(OPERATOR));
  history.note('begin', {
    ...{ seed, topology: topology.name, length, clients: [...clients.keys()], keys: KEYS },
    ...{ permits: permitsOf(holders), holders, servers: topology.servers.length },
    ...{ skews: topology.clocks?.map(({ skew }) => skew), ...resolved },
  });
  await topology.watch?.(history, now);
  await Promise.all([...clients.values()].map((client) => client.start()));
  leftovers.begin(resolved);
}

async function makeFaults(run) {
  const { topology, clients, seed, length, onlyKept = false, only, say, history, now, timeouts, holders } = run;
  const kinds = topology.faults
    .filter(({ breaks, forgets }) => !onlyKept || (breaks === undefined && !forgets))
    .filter(({ name }) => only === undefined || only.includes(name));
  const missing = only?.find((name) => kinds.every((kind) => kind.name !== name));
  if (missing !== undefined) throw new StepFailed(`--faults: on ${topology.name} there is no '${missing}'`);
  const { servers } = topology;
  const names = [...clients.keys()];
  const places = { servers: servers.length, networks: topology.networkOf(names[0]).length };
  const lease = longestLease(holders, timeouts.renewedLease);
  const faults = planFaults({ seed, length, kinds, clients: names, keys: KEYS, longestLease: lease, ...places });
  const startedAt = now();
  say?.(`${faults.length} faults in ${Math.round(length / 1_000)} s`);
  const world = { topology, servers, clients, operator: run.operator };
  await new Injector({ world, history, now, kinds }).run(faults, startedAt);
  await sleep(Math.max(RECONNECTS, startedAt + length - now()));
  await topology.untilWhole?.();
  say?.('all faults are over: every client asks for every key once more');
  history.note('calm');
}

async function settle({ topology, clients, operator, leftovers, history }) {
  const all = [...clients.values()];
  await withPatience(all.map((client) => client.call('finish', KEYS, NORMAL_AGAIN, topology.lockKinds)));
  await withPatience([...all.map((client) => client.call('close')), operator.call('close')]);
  await leftovers.finish();
  history.note('end');
}

/** Continues after a limited time even if some of it has not ended. */
async function withPatience(work) {
  const giveUp = new AbortController();
  await Promise.race([Promise.all(work), sleep(GIVEN_UP, undefined, { signal: giveUp.signal }).catch(() => undefined)]);
  giveUp.abort();
}
