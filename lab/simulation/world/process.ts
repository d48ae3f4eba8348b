import { createEngineContext, type EngineContext } from '../../../lib/engine/engine-context.js';
import { LockEngine } from '../../../lib/engine/lock-engine.js';
import type { ConnectionObserver } from '../../../lib/store/redis/connection.js';
import { Elections } from '../../../lib/service/objects/default-leader-election.js';
import type { LockStore } from '../../../lib/store/lock-store.js';
import { RedisStore } from '../../../lib/store/redis/redis-store.js';
import { noise, type Random } from '../schedule/noise.js';
import { TIMES, type Schedule } from '../schedule/schedule.js';
import { EngineClock, Machine, MachineClock } from './machine.js';
import { SimulatedQuorum, type ServerLife } from './quorum.js';
import type { Servers } from './servers.js';
import { KEY_PREFIX } from './call.js';
import { StoreLine } from './store-line.js';
import type { World } from './world.js';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const UNOBSERVED = { observed: false, next() {} };
/** How many streams of random numbers each place has: one for each life. */
const LIVES = 100;

export interface ProcessParts {
  readonly place: number;
  /** From 1 on: a process that restarts after a crash is another client. */
  readonly life: number;
  readonly schedule: Schedule;
  readonly world: World;
  readonly servers: Servers;
  readonly trace: (text: () => string) => void;
}

/** One life of one of the processes that lock. */
export class Process {
  readonly name: string;
  readonly machine: Machine;
  readonly context: EngineContext;
  readonly engine: LockEngine;
  readonly store: LockStore;
  /** The connections to each server. */
  readonly connections: readonly StoreLine[];
  /** The stores on these connections. */
  readonly members: readonly RedisStore[];
  /** In which its callers stand. */
  readonly elections = new Elections();
  readonly random: Random;
  /** The time as the engine sees it. Callers have another clock, so that timers which the engine leaves behind show. */
  readonly clock: EngineClock;
  readonly callersClock: MachineClock;
  /** It takes no more visits: it shuts down. */
  closing = false;
  /** Acquisitions that were asked to yield, and when by the clock of this process. */
  readonly yielded = new Map<string, number>();

  /** Holds that were ended by force, as far as the process was notified. */
  readonly revoked = new Set<string>();
  private readonly quorum: SimulatedQuorum | undefined;

  constructor({ place, life, schedule, world, servers, trace }: ProcessParts) {
    // No name is a part of another one: the scripts compare ids as texts.
    this.name = `${'pqr'[place]!}${String(life).padStart(3, '0')}`;
    const machine = (this.machine = new Machine(world, 1 + schedule.drift[place]! / 1_000, 5_555 * (place + 1)));
    const random = (this.random = noise(schedule.noise, place * LIVES + life));
    const { turns } = schedule;
    const { commandTimeout, grantTimeout } = TIMES;
    const clock = new MachineClock(machine);
    this.clock = new EngineClock(machine);
    const connections: StoreLine[] = [];
    this.connections = connections;
    this.members = servers.all.map((server, i) => {
      const { weather } = schedule.servers[i]!;
      const surroundings = { server, machine, clock, elapsed: this.clock, random, weather, trace };
      const options = { connection: '', keyPrefix: KEY_PREFIX, commandTimeout, clientId: this.name };
      const connect = (observer: ConnectionObserver): StoreLine => {
        const connection = new StoreLine(this.name, surroundings, observer);
        connections.push(connection);
        return connection;
      };
      const store = new RedisStore(options, SILENT, { connect, clock });
      const connection = connections.at(-1)!;
      connection.onYield = (id) => this.yielded.set(id, this.yielded.get(id) ?? this.clock.says);
      connection.onRevoked = (id) => this.revoked.add(id);
      return store;
    });
    const { members } = this;
    const quorum = { members, connections, commandTimeout, logger: SILENT, clock: this.clock, random };
    this.quorum = servers.isQuorum ? new SimulatedQuorum(quorum) : undefined;
    this.store = this.quorum ?? members[0]!;
    this.callersClock = new MachineClock(machine);
    this.context = createEngineContext({
      ...{ store: this.store, clock: this.clock, random, logger: SILENT, sink: UNOBSERVED },
      limits: { commandTimeout, grantTimeout, batch: { size: turns.most, time: turns.time }, front: 1 },
    });
    this.engine = new LockEngine(this.context);
  }

  /** Reports to `answered` which lives of the servers have replied to a request about a grant. */
  overhearAnswers(answered: (id: string, answers: readonly ServerLife[]) => void): void {
    if (this.quorum !== undefined) this.quorum.onAnswer = answered;
    else
      for (const each of this.connections) each.onAnswer = (id, life) => answered(id, [{ server: each.server, life }]);
  }

  /** The lives of the masters that it knows of; nothing is granted by an earlier one. */
  get known(): readonly ServerLife[] {
    return this.quorum?.known ?? [];
  }

  /** Whether a connection leads to a master that is known to be one of its own. */
  isAdmitted(connection: StoreLine): boolean {
    return this.quorum?.members[this.connections.indexOf(connection)]?.isExamined === true;
  }

  /** How many acquisitions the store of a quorum remembers. */
  acquisitions(someForget: boolean): number {
    return this.quorum?.remembered(someForget) ?? 0;
  }

  get isAlive(): boolean {
    return !this.machine.dead;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.callersClock.setTimer(ms, resolve));
  }

  /** Nothing of it happens any more; its connections break, which the server notices after `noticed` ms. */
  crash(noticed: number): void {
    this.machine.dead = true;
    for (const connection of this.connections) connection.disconnect(noticed);
  }
}
