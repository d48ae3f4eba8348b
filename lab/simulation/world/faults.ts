import type { RedisStore } from '../../../lib/store/redis/redis-store.js';
import { KEYS, ORDERS, PERMITS, PROCESSES, type Fault } from '../schedule/schedule.js';
import type { RunParts } from '../run-parts.js';
import type { Process } from './process.js';
import type { Server } from './server.js';
import type { StoreLine } from './store-line.js';

/** ms of a suspension that may stay unnoticed: the boot time before and after it is rounded. */
const SHORTEST_SUSPENSION = 21;

/** ms for which a release by force is remembered by the masters. */
const REVOKED_MEMORY = 60_000;

/** ms from the moment at which a master freezes until its replica takes over. A Cluster waits for longer. */
const TAKEOVER = 500;
/** ms after which a master that was replaced and has thawed knows of it, at most. */
const LEARNS = 100;

/** Has a fault happen at its time. */
export function plan(fault: Fault, run: RunParts): void {
  const { world, checker, outcomes, trace } = run;
  world.at(world.now + fault.at, () => {
    if (run.isOver) return;
    outcomes.faults += 1;
    trace(() => `fault: ${fault.kind} ${fault.process} ${fault.server} ${KEYS[fault.key]!} ${fault.lasts}`);
    if (!ORDERS.has(fault.kind)) checker.disturbed(fault.lasts);
    strike(fault, run);
  });
}

function strike({ kind, process: place, server: serverPlace, key: keyPlace, lasts }: Fault, run: RunParts): void {
  const { servers, checker } = run;
  const server = servers.all[serverPlace % servers.all.length]!;
  const process = run.process(place);
  const connections = process === undefined ? [] : struck(process.connections, serverPlace);
  const key = KEYS[keyPlace]!;
  switch (kind) {
    case 'stall':
      return process?.machine.stall(lasts);
    case 'suspension':
      // The process checks on the first line after the resume.
      return process?.machine.suspend(SHORTEST_SUSPENSION + lasts, () => void process.clock.now());
    case 'crash':
      if (process === undefined) return;
      process.crash(lasts / 10);
      checker.died(process);
      return run.reviveIn(place, lasts);
    case 'shutdown':
      if (process === undefined || process.closing) return;
      process.closing = true;
      return process.machine.do(() => void shutDown(process, lasts, run, place));
    case 'commands cut':
      return connections.forEach((connection) => connection.cutCommands(lasts));
    case 'commands late':
      // What was on its way arrives behind requests on the next connection.
      return connections.forEach((connection) => connection.cutCommands(lasts / 100, lasts / 4));
    case 'subscription cut':
      return connections.forEach((connection) => connection.cutPushes(lasts, lasts / 10));
    case 'both cut':
      return connections.forEach((connection) => {
        connection.cutCommands(lasts);
        connection.cutPushes(lasts, lasts / 10);
      });
    case 'server frozen':
      return server.freeze(lasts);
    case 'server restarted':
      return server.restart(lasts, true);
    case 'server emptied':
      checker.assumptions.broke(run.world.now, undefined);
      return server.restart(lasts, false);
    case 'address moved': {
      const connection = process?.connections[serverPlace % servers.all.length];
      // If it is so from the start, no lock is granted: that is a mistake in the options.
      if (connection === undefined || !process!.connections.every((each) => process!.isAdmitted(each))) return;
      return connection.leadTo(servers.all[(serverPlace + 1) % servers.all.length]!, lasts);
    }
    case 'failover':
      return failOver(keyPlace, lasts, run);
    case 'master replaced':
      return replaceMaster(server, lasts, run);
    case 'force release':
      return order(process, (sure) => sure.engine.forceRelease(key));
    case 'vote ended':
      return endVoteBy(process, serverPlace % servers.all.length, key, lasts, run);
    case 'permits set': {
      const permits = 2 + (lasts % (PERMITS + 1));
      checker.exclusion.permitsSet(key, permits);
      return order(process, (sure) => sure.engine.setLimit(key, permits));
    }
    case 'wall clock':
      if (process !== undefined) process.machine.wallShift += 10 * lasts - 3_000;
  }
}

/** The ways to one master, or to all of them. */
function struck(connections: readonly StoreLine[], place: number): readonly StoreLine[] {
  const one = connections[place % (connections.length + 1)];
  return one === undefined ? connections : [one];
}

/**
 * A replica that has missed the last writes takes over. Its clock is right to within half of the duration of the
 * takeover.
 */
function failOver(keyPlace: number, lasts: number, { world, servers, checker, trace }: RunParts): void {
  const [server] = servers.all as [Server];
  const replica = server.replica();
  const ms = Math.ceil(lasts / 10);
  const ahead = Math.floor((((keyPlace % 3) - 1) * ms) / 2);
  world.at(world.now + lasts / 2, () => {
    // A server that has been restarted meanwhile has its replicas begin anew.
    if (server.life !== replica.life || server.successor !== undefined) return;
    trace(() => `the replica takes over, its clock ${ahead} ms ahead`);
    server.failOver(replica, ms, ahead);
    checker.assumptions.broke(world.now, undefined);
  });
}

/**
 * A master is frozen. A replica takes over that has missed no write. Then the old master thaws, and executes the commands
 * that have reached it before it learns of the takeover.
 */
function replaceMaster(server: Server, lasts: number, run: RunParts): void {
  const { world, checker } = run;
  const { life } = server;
  const thaws = TAKEOVER + lasts / 4;
  const retires = thaws + (lasts % LEARNS);
  server.freeze(thaws);
  checker.disturbed(retires);
  world.at(world.now + TAKEOVER, () => {
    // It has been restarted or replaced meanwhile.
    if (server.life !== life || server.successor !== undefined) return;
    run.replace(server, retires - TAKEOVER);
    world.at(world.now + retires - TAKEOVER, () => server.retire());
  });
}

/** By a forced release that reached one master alone; no client is notified of the others. */
function endVoteBy(process: Process | undefined, master: number, key: string, lasts: number, run: RunParts): void {
  if (lasts % 2 === 1) {
    for (let place = 0; place < PROCESSES; place += 1)
      run.process(place)?.connections[master]!.cutPushes(lasts / 10, 0);
  }
  order(process, (sure) => endVote(sure.members[master]!, key));
}

async function endVote(store: RedisStore, key: string): Promise<void> {
  const { holds } = await store.inspect(key);
  await store.endHolds(key, holds, undefined, REVOKED_MEMORY);
}

/** An operator's request to a process; it may fail. */
function order(process: Process | undefined, ask: (process: Process) => Promise<unknown>): void {
  process?.machine.do(() => void ask(process).catch(() => undefined));
}

async function shutDown(process: Process, ms: number, run: RunParts, place: number): Promise<void> {
  const { trace, checker } = run;
  trace(() => `${process.name} shuts down`);
  process.elections.stopAll();
  await process.engine.close(ms / 4);
  trace(() => `${process.name} is closed`);
  await checker.closed(process);
  run.reviveIn(place, ms / 4);
}
