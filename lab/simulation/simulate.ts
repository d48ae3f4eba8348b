import { Workload } from './clients/workload.js';
import { Letters } from './clients/letters.js';
import { noOutcomes, type Outcomes } from './clients/outcomes.js';
import { drive } from './drive.js';
import { Checker } from './checker/checker.js';
import { Gates } from './checker/gates.js';
import { nothingIsRemembered, nothingIsStored } from './checker/leftovers.js';
import { Violation } from './checker/violation.js';
import { isInCluster, PROCESSES, TIMES, type Schedule } from './schedule/schedule.js';
import type { RunParts } from './run-parts.js';
import { plan } from './world/faults.js';
import { Process } from './world/process.js';
import type { Server } from './world/server.js';
import { Servers } from './world/servers.js';
import { World } from './world/world.js';

/** Where a run failed: the same step each time. */
export interface Failure {
  readonly rule: string;
  readonly message: string;
  readonly step: number;
  /** ms since the start, in the time of the run. */
  readonly time: number;
  readonly stack: string | undefined;
}

export interface Run {
  readonly outcomes: Outcomes;
  readonly digest: number;
  readonly failure: Failure | undefined;
}

/** ms after which even the slowest run is over. */
const LONGEST = 600_000;
/**
 * ms after the last visit until everything that was lost on the way has ended with its lease, its patience, or its
 * memory. A master remembers for a minute that a hold was ended by force.
 */
const AFTERMATH = 60_000 + 6 * TIMES.lease + 4 * TIMES.commandTimeout;
const START = 1_000;

/** Runs a schedule and checks it. `line` receives the events as text. */
export async function simulate(schedule: Schedule, line?: (text: string) => void): Promise<Run> {
  const run = new Simulation(schedule, line);
  const failure = await run.go();
  const { outcomes, world } = run;
  outcomes.steps = world.steps;
  if (run.servers.isQuorum) [outcomes.quorumVisits, outcomes.quorumHeld] = [outcomes.visits, outcomes.held];
  return { outcomes, digest: world.digest, failure };
}

class Simulation implements RunParts {
  readonly world = new World();
  readonly servers: Servers;
  readonly checker: Checker;
  readonly outcomes = noOutcomes();
  readonly letters = new Letters();
  readonly gates = new Gates();
  private readonly workloads: Workload[];
  private readonly processes: Array<Process | undefined> = [];
  private readonly lives: number[] = [];
  private ending: 'visits' | 'aftermath' | 'over' = 'visits';

  constructor(
    private readonly schedule: Schedule,
    private readonly line: ((text: string) => void) | undefined,
  ) {
    const { world, outcomes } = this;
    this.servers = new Servers(schedule.servers, world, schedule.noise, schedule.hasSmallLimits, isInCluster(schedule));
    this.checker = new Checker(world, this.servers, schedule);
    if (this.servers.isQuorum) outcomes.quorums += 1;
    for (const server of this.servers.all) this.attend(server);
    this.workloads = Array.from({ length: PROCESSES }, (_, place) => {
      const visits = schedule.visits.filter((visit) => visit.process === place);
      return new Workload(visits, this);
    });
  }

  /** Listens to the actions of a server. */
  private attend(server: Server): void {
    const { outcomes } = this;
    this.checker.attend(server);
    const { onScript, onReinstated } = server;
    server.onScript = (executed) => {
      outcomes.scripts += 1;
      this.trace(() => `${server.name}: ${executed.text}`);
      // It does not know that it is a master no more: the rules are those of its successor.
      if (server.successor === undefined) onScript(executed);
      else outcomes.belated += 1;
    };
    server.onReinstated = (key, id) => {
      outcomes.reinstated += 1;
      onReinstated(key, id);
    };
  }

  readonly trace = (text: () => string): void => {
    const { world, line } = this;
    line?.(`${String(world.steps).padStart(6)} ${(world.now - START).toFixed(3).padStart(11)} ms  ${text()}`);
  };

  get isOver(): boolean {
    return this.ending !== 'visits';
  }

  process(place: number): Process | undefined {
    return this.processes[place];
  }

  replace(server: Server, within: number): void {
    this.trace(() => `the replica of ${server.name} takes over`);
    this.attend(this.servers.replace(server, within));
    server.onLoss = () => undefined;
  }

  reviveIn(place: number, ms: number): void {
    this.processes[place] = undefined;
    this.world.at(this.world.now + ms, () => this.revive(place));
  }

  /** Resolves to the failure, if there was one. */
  async go(): Promise<Failure | undefined> {
    for (let place = 0; place < PROCESSES; place += 1) this.revive(place);
    for (const fault of this.schedule.faults) plan(fault, this);
    const stopListening = listenToRejections((error) => this.checker.found(error));
    await drive(() => this.step()).finally(stopListening);
    this.servers.close();
    const { violation } = this.checker;
    if (violation === undefined) return undefined;
    const { world } = this;
    const { message, stack } = violation;
    const rule = violation instanceof Violation ? violation.rule : 'unexpected';
    return { rule, message, step: world.steps, time: world.now - START, stack };
  }

  private revive(place: number): void {
    const { schedule, world, servers, trace, checker } = this;
    const life = (this.lives[place] = (this.lives[place] ?? 0) + 1);
    const process = new Process({ place, life, schedule, world, servers, trace });
    this.processes[place] = process;
    process.overhearAnswers((id, answers) => checker.assumptions.answered(id, answers));
    for (const connection of process.connections) {
      connection.onReinstate = (id) => checker.check(() => checker.revocations.wanted(process, id));
    }
    // It continues without an answer.
    process.engine.start().catch(() => undefined);
    this.workloads[place]!.start(process);
  }

  /** `false`: the run is over. The effects of promises are done before the next step. */
  private step(): boolean {
    this.checker.look();
    if (this.checker.violation !== undefined || this.ending === 'over') return false;
    if (this.ending === 'visits' && this.workloads.every((workload) => workload.isDone)) {
      this.ending = 'aftermath';
      const rest = Math.max(
        0,
        ...this.processes.map((process) => (process?.machine.stalledUntil ?? 0) - this.world.now),
      );
      this.world.at(this.world.now + rest + AFTERMATH, () => this.end());
    }
    this.checker.check(() => this.letHappen());
    if (this.world.now > START + LONGEST) this.checker.found(new Violation('waiting', 'the run does not end'));
    return true;
  }

  private letHappen(): void {
    if (!this.world.step()) throw new Violation('waiting', 'no event is left, but some callers are not done');
  }

  private end(): void {
    const running = this.processes.filter((process) => process !== undefined);
    this.checker.check(() => {
      nothingIsStored(this.servers);
      const someForget = this.schedule.visits.some(({ act }) => act === 'abandon');
      for (const process of running) nothingIsRemembered(process, someForget);
    });
    const closed = running.map(async (process) => {
      await process.engine.close(0);
      await this.checker.closed(process);
    });
    void Promise.all(closed).then(() => (this.ending = 'over'));
    this.world.at(this.world.now + 2 * TIMES.commandTimeout, () => {
      this.checker.found(new Violation('waiting', 'an engine without holds and waiters is not closed'));
    });
  }
}

let heard: ((error: Error) => void) | undefined;

/** One run at a time has the process to itself. */
function listenToRejections(found: (error: Error) => void): () => void {
  if (heard === undefined) process.on('unhandledRejection', (error) => heard?.(error as Error));
  heard = (error) => found(new Violation('unexpected', `an unhandled rejection: ${error.message}`));
  return () => (heard = () => undefined);
}
