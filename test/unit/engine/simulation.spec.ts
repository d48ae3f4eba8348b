import { describe, expect, it } from '@jest/globals';
import type { Clock } from '../../../lib/common/clock.js';
import type { Hold } from '../../../lib/engine/hold.js';
import { LockEngine } from '../../../lib/engine/lock-engine.js';
import { isLockStoreError, isLockTimeoutError } from '../../../lib/errors/index.js';
import { MemoryBackend } from '../../../lib/store/memory/memory-backend.js';
import { FakeClock, settled } from '../../support/fake-clock.js';
import { randomOf, SimulatedStore, type Weather } from '../../support/simulation.js';
import { TERMS } from './support.js';

const commandTimeout = 500;
const lease = 600;
const CLIENTS = 3;
const CALLERS = 4;
const TIMES = 4;

interface Course {
  readonly weather: Weather;
  /** Whether processes stall, longer than their leases last. */
  readonly stalls: boolean;
}

interface Result {
  held: number;
  timeouts: number;
  failures: number;
  aborted: number;
  lost: number;
  /** How many had it without that the store heard of it. */
  turns: number;
}

/** The clock of a process that stalls: time passes, and what falls due meanwhile happens when it goes on. */
class ProcessClock implements Clock {
  stalledUntil = 0;

  constructor(private readonly clock: FakeClock) {}

  now(): number {
    return this.clock.now();
  }

  wall(): number {
    return this.clock.wall();
  }

  setTimer(delay: number, callback: () => void): unknown {
    return this.clock.setTimer(delay, () => this.go(callback));
  }

  clearTimer(timer: unknown): void {
    this.clock.clearTimer(timer);
  }

  stayAwake(): () => void {
    return () => undefined;
  }

  private go(callback: () => void): void {
    const left = this.stalledUntil - this.clock.now();
    if (left > 0) this.clock.setTimer(left, () => this.go(callback));
    else callback();
  }
}

/** Callers of all kinds want one key again and again; nobody believes in a lock that another one believes in. */
async function run(seed: number, { weather, stalls }: Course): Promise<Result> {
  const random = randomOf(seed);
  const world = new FakeClock();
  const backend = new MemoryBackend(world);
  const result: Result = { held: 0, timeouts: 0, failures: 0, aborted: 0, lost: 0, turns: 0 };
  const clocks = Array.from({ length: CLIENTS }, () => new ProcessClock(world));
  const engines = clocks.map((clock, i) => {
    const store = new SimulatedStore(backend, `client${i}`, { clock, random, weather, commandTimeout });
    const logger = { debug() {}, log() {}, warn() {}, error() {} };
    const events = { observed: false, next() {} };
    const localTurns = { most: 1 + Math.floor(random() * 6), time: 5 + random() * 50 };
    return new LockEngine({ store, clock, random, logger, events, commandTimeout, grantTimeout: 200, localTurns });
  });
  await Promise.all(engines.map((engine) => engine.start()));

  const fault = (what: string): Error => new Error(`seed ${seed}: ${what} at ${world.now()}`);
  let holder: Hold | undefined;
  let last: { readonly token: number; readonly id: string } = { token: 0, id: '' };

  const visit = async (engine: LockEngine, clock: Clock): Promise<void> => {
    const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(ms, () => resolve()));
    const dice = random();
    const terms = {
      ...TERMS,
      lease,
      fair: dice < 0.15,
      owner: dice > 0.9 ? `owner ${world.now()} ${dice}` : undefined,
      renews: random() < 0.7,
      holdAtLeast: random() < 0.1 ? 20 : 0,
    };
    const controller = new AbortController();
    if (random() < 0.1) world.setTimer(random() * 100, () => controller.abort(new Error('enough')));
    const waitTimeout = random() < 0.1 ? 0 : random() < 0.2 ? 50 + random() * 200 : 60_000;
    try {
      const hold = await engine.acquire(terms, { waitTimeout, signal: controller.signal });
      if (holder?.isHeld === true) throw fault('two believe');
      if (hold.isHeld && hold.token <= last.token) throw fault(`token ${hold.token} after ${last.token}`);
      holder = hold;
      if (hold.isHeld) {
        if (last.id === hold.id) result.turns += 1;
        last = { token: hold.token, id: hold.id };
        result.held += 1;
      }
      await pause(random() < 0.03 ? random() * 3 * lease : random() * 8);
      if (!hold.isHeld) result.lost += 1;
      await engine.release(hold).catch(() => undefined);
    } catch (error) {
      if (isLockTimeoutError(error)) result.timeouts += 1;
      else if (isLockStoreError(error)) result.failures += 1;
      else if (error instanceof Error && error.message === 'enough') result.aborted += 1;
      else throw error;
    }
    await pause(random() * 5);
  };

  let done = 0;
  const work = engines.flatMap((engine, i) =>
    Array.from({ length: CALLERS }, async () => {
      for (let n = 0; n < TIMES; n += 1) await visit(engine, clocks[i]!);
      done += 1;
    }),
  );
  let failure: unknown;
  Promise.all(work).catch((error: unknown) => {
    failure = error;
  });

  const end = world.now() + 300_000;
  let nextStall = world.now() + 50;
  while (done < work.length) {
    await settled();
    if (failure !== undefined) throw failure;
    if (world.now() > end) throw fault('somebody waits for ever');
    world.advance(Math.max(0, Math.min(world.next, nextStall) - world.now()));
    if (world.now() < nextStall) continue;
    nextStall += 200;
    if (stalls) clocks[Math.floor(random() * CLIENTS)]!.stalledUntil = world.now() + random() * 2 * lease;
  }
  // Whatever was lost on the way ends with its lease, and a place with its patience.
  await world.pass(3 * lease + 2 * commandTimeout);
  const left = backend.inspect('a');
  if (left.holds.length + left.waiters.length > 0) throw fault(`left behind: ${JSON.stringify(left)}`);
  await Promise.all(engines.map((engine) => engine.close(0)));
  return result;
}

async function runAll(seeds: number, course: Course): Promise<Result> {
  const sum: Result = { held: 0, timeouts: 0, failures: 0, aborted: 0, lost: 0, turns: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const result = await run(seed, course);
    for (const name of Object.keys(sum) as Array<keyof Result>) sum[name] += result[name];
  }
  return sum;
}

/** How many schedules; more with SIMULATION_SEEDS. */
const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 60);

describe('C20 random schedules of one server and clients whose waiters take turns', () => {
  it('in calm weather everybody is served or told, and most of them in turn', async () => {
    const result = await runAll(SEEDS, { weather: { delay: 2, loss: 0, pushLoss: 0 }, stalls: false });
    process.stdout.write(`calm: ${JSON.stringify(result)}\n`);
    expect(result.failures).toBe(0);
    expect(result.turns).toBeGreaterThan(result.held / 6);
  });

  it('where questions, answers and pushes are lost nobody believes in another one’s lock', async () => {
    const result = await runAll(SEEDS, { weather: { delay: 5, loss: 0.03, pushLoss: 0.2 }, stalls: false });
    process.stdout.write(`losses: ${JSON.stringify(result)}\n`);
    expect(result.turns).toBeGreaterThan(result.held / 10);
  });

  it('nor where processes stall beyond their leases', async () => {
    const result = await runAll(SEEDS, { weather: { delay: 5, loss: 0.01, pushLoss: 0.05 }, stalls: true });
    process.stdout.write(`stalls: ${JSON.stringify(result)}\n`);
    expect(result.lost).toBeGreaterThan(0);
    expect(result.turns).toBeGreaterThan(result.held / 10);
  });
});
