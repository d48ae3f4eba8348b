import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clockSince } from '../history/clock.mjs';
import { mergeHistories } from '../history/merge.mjs';
import { HistoryWriter } from '../history/writer.mjs';
import { PERMITS } from '../schedule/operations.mjs';
import { planFaults } from '../schedule/schedule.mjs';
import { loadTopology } from '../topologies/index.mjs';
import { Client } from './client.mjs';
import { Injector } from './injector.mjs';
import { LeftoverWatch } from './leftovers.mjs';
import { ClientProcess } from './process.mjs';

const KEYS = ['red', 'green', 'blue'];
const CLIENTS = 4;
const LOOPS = 3;
/** Short, so that much happens. */
const OPTIONS = { lockWatchdogTimeout: 500, commandTimeout: 700, grantTimeout: 300 };
/** ms in which a key must be had once all faults are over: leases of the dead, places that nobody asks for any more. */
const NORMAL_AGAIN = 15_000;

/** One run: starts servers and clients, makes faults, ends all, and answers the history. `length` is in ms. */
export async function runChaos({
  seed,
  length,
  topology: name,
  installation,
  onlyKept = false,
  say = () => undefined,
}) {
  const { start } = await loadTopology(name);
  const names = Array.from({ length: CLIENTS }, (_, i) => `c${i + 1}`);
  const directory = mkdtempSync(join(tmpdir(), 'locks-chaos-'));
  mkdirSync(directory, { recursive: true });
  const origin = process.hrtime.bigint();
  const now = clockSince(origin);
  const history = new HistoryWriter(join(directory, 'run.jsonl'), now);
  const topology = await start({ installation, clients: names });
  const kinds = topology.faults.filter(({ breaks }) => !onlyKept || breaks === undefined);
  const settings = {
    directory,
    history,
    origin: String(origin),
    seed,
    keys: KEYS,
    kinds: topology.lockKinds,
    loops: LOOPS,
  };
  const clients = new Map(
    names.map((client) => [
      client,
      new Client(client, { ...settings, options: { ...OPTIONS, connection: topology.connectionOf(client) } }),
    ]),
  );
  const operator = new ClientProcess('../clients/operator.mjs');
  const leftovers = new LeftoverWatch(topology, history);
  try {
    history.note('begin', {
      ...{ seed, topology: name, length, clients: names, keys: KEYS, permits: PERMITS },
      ...{ servers: topology.servers.length, ...OPTIONS },
    });
    await operator.call('start', { ...OPTIONS, connection: topology.connectionOf() });
    await Promise.all([...clients.values()].map((client) => client.start()));

    const scope = { seed, length, kinds, clients: names, servers: topology.servers.length, keys: KEYS };
    const faults = planFaults(scope);
    const world = { topology, servers: topology.servers, clients, operator };
    const startedAt = now();
    say(`${faults.length} faults in ${Math.round(length / 1_000)} s`);
    leftovers.begin();
    await new Injector({ world, history, now, kinds }).run(faults, startedAt);
    await sleep(Math.max(0, startedAt + length - now()));

    say('all faults are over: every client asks for every key once more');
    history.note('calm');
    await Promise.all([...clients.values()].map((client) => client.call('finish', KEYS, NORMAL_AGAIN)));
    await Promise.all([...[...clients.values()].map((client) => client.call('close')), operator.call('close')]);
    await leftovers.finish();
    history.note('end');
    return mergeHistories(directory);
  } finally {
    leftovers.stop();
    await Promise.all([...[...clients.values()].map((client) => client.end()), operator.kill()]);
    await topology.stop();
    history.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
