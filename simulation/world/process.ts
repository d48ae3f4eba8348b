import { createEngineContext, type EngineContext } from '../../lib/engine/engine-context.js';
import { LockEngine } from '../../lib/engine/lock-engine.js';
import { Elections } from '../../lib/service/objects/elections.js';
import { noise, type Random } from '../schedule/noise.js';
import { TIMES, type Schedule } from '../schedule/schedule.js';
import { EngineClock, Machine, MachineClock } from './machine.js';
import type { Server } from './server.js';
import { SimulatedStore } from './store.js';
import type { World } from './world.js';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const UNOBSERVED = { observed: false, next() {} };
/** How many streams of random numbers each place has: one for each life. */
const LIVES = 100;

export interface ProcessParts {
  readonly place: number;
  /** From 1 on: who comes back after a crash is another client. */
  readonly life: number;
  readonly schedule: Schedule;
  readonly world: World;
  readonly server: Server;
  readonly trace: (text: () => string) => void;
}

/** One life of one of the processes that lock. */
export class Process {
  readonly name: string;
  readonly machine: Machine;
  readonly context: EngineContext;
  readonly engine: LockEngine;
  readonly store: SimulatedStore;
  /** In which its callers stand. */
  readonly elections = new Elections();
  readonly random: Random;
  /** What the engine sees of the time. Callers have another one, so that what the engine leaves behind shows. */
  readonly clock: EngineClock;
  readonly callersClock: MachineClock;
  /** It takes no more visits: it shuts down. */
  closing = false;
  /** Acquisitions that were told to yield, and when by the clock of this process. */
  readonly yielded = new Map<string, number>();

  constructor({ place, life, schedule, world, server, trace }: ProcessParts) {
    this.name = `${'pqr'[place]!}${life}`;
    const machine = (this.machine = new Machine(world, 1 + schedule.drift[place]! / 1_000, 5_555 * (place + 1)));
    const random = (this.random = noise(schedule.noise, place * LIVES + life));
    const { weather, turns } = schedule;
    const { commandTimeout, grantTimeout } = TIMES;
    const clock = new MachineClock(machine);
    this.clock = new EngineClock(machine);
    this.store = new SimulatedStore(this.name, { server, machine, clock, random, weather, commandTimeout, trace });
    this.store.onYield = (id) => this.yielded.set(id, this.yielded.get(id) ?? this.clock.says);
    this.callersClock = new MachineClock(machine);
    this.context = createEngineContext({
      ...{ store: this.store, clock: this.clock, random, logger: SILENT, sink: UNOBSERVED },
      limits: { commandTimeout, grantTimeout, batch: { size: turns.most, time: turns.time } },
    });
    this.engine = new LockEngine(this.context);
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
    this.store.disconnect(noticed);
  }
}
