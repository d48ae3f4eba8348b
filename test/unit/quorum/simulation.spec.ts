import { describe, expect, it } from '@jest/globals';
import { createEngineContext } from '../../../lib/engine/engine-context.js';
import { LockEngine } from '../../../lib/engine/lock-engine.js';
import { isLockStoreError, isLockTimeoutError } from '../../../lib/errors/index.js';
import { QuorumStore } from '../../../lib/store/quorum/quorum-store.js';
import { FakeClock, settled } from '../../support/fake-clock.js';
import { TERMS } from '../engine/support.js';
import { randomOf, type Weather } from '../../support/simulation.js';
import { SimulatedMaster, SimulatedMember } from './simulation.js';

const commandTimeout = 150;
const lease = 600;

interface Course {
  readonly masters: number;
  readonly clients: number;
  readonly times: number;
  readonly weather: Weather;
  /** Whether masters freeze, one at a time. */
  readonly freezes?: boolean;
  readonly waitTimeout: number;
}

/** What a run came to. */
interface Result {
  held: number;
  timeouts: number;
  failures: number;
  lost: number;
  longest: number;
}

/** Clients pass a section again and again; nobody believes in a lock that another one believes in. */
async function run(
  seed: number,
  { masters: count, clients, times, weather, freezes, waitTimeout }: Course,
): Promise<Result> {
  const random = randomOf(seed);
  const clock = new FakeClock();
  const masters = Array.from({ length: count }, () => new SimulatedMaster(clock, Math.floor(random() * 1e6)));
  const logger = { debug() {}, log() {}, warn() {}, error() {} };
  const limits = { commandTimeout, grantTimeout: 300, batch: { size: 4, time: 50 } };
  const stores: QuorumStore[] = [];
  const engines = Array.from({ length: clients }, (_, i) => {
    const surroundings = { clock, random, weather, commandTimeout };
    const members = masters.map((master) => new SimulatedMember(master, `client${i}`, surroundings));
    const store = new QuorumStore({ members, commandTimeout, logger, clock, random });
    stores.push(store);
    const sink = { observed: false, next() {} };
    return new LockEngine(createEngineContext({ store, clock, random, logger, sink, limits }));
  });
  await Promise.all(engines.map((engine) => engine.start()));

  const result: Result = { held: 0, timeouts: 0, failures: 0, lost: 0, longest: 0 };
  let holder: { isHeld: boolean } | undefined;
  let lastToken = 0;
  let done = 0;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(ms, () => resolve()));
  const work = engines.map(async (engine) => {
    for (let n = 0; n < times; n += 1) {
      const since = clock.now();
      try {
        const hold = await engine.acquire({ ...TERMS, lease }, { waitTimeout, signal: undefined });
        if (holder?.isHeld === true) throw new Error(`seed ${seed}: two believe at ${clock.now()}`);
        if (hold.token <= lastToken) throw new Error(`seed ${seed}: token ${hold.token} after ${lastToken}`);
        holder = hold;
        lastToken = hold.token;
        result.held += 1;
        result.longest = Math.max(result.longest, clock.now() - since);
        await pause(random() < 0.1 ? random() * 2 * lease : random() * 5);
        if (!hold.isHeld) result.lost += 1;
        await engine.release(hold).catch(() => undefined);
      } catch (error) {
        if (isLockTimeoutError(error)) result.timeouts += 1;
        else if (isLockStoreError(error)) result.failures += 1;
        else throw error;
      }
      await pause(random() * 10);
    }
    done += 1;
  });
  const failed = Promise.all(work).then(
    () => undefined,
    (error: unknown) => error,
  );
  let nextFreeze = 100;
  for (let ms = 0; done < clients && ms < 120_000; ms += 1) {
    clock.advance(1);
    await settled();
    if (freezes === true && ms === nextFreeze) {
      masters[Math.floor(random() * count)]!.frozenUntil = clock.now() + random() * 400;
      nextFreeze += 500;
    }
    const early = await Promise.race([failed, Promise.resolve(done)]);
    if (early instanceof Error) throw early;
  }
  const error = await Promise.race([failed, Promise.resolve(new Error(`seed ${seed}: not done`))]);
  if (error !== undefined) throw error;
  // Whatever was lost on the way ends with its lease.
  await clock.pass(3 * lease);
  for (const { backend } of masters) expect(backend.inspect('a')).toMatchObject({ holds: [], waiters: [] });
  // And nobody remembers what is over.
  expect(stores.map((store) => (Reflect.get(store, 'acquisitions') as Map<string, unknown>).size)).toEqual(
    stores.map(() => 0),
  );
  await Promise.all(engines.map((engine) => engine.close(0)));
  return result;
}

async function runAll(seeds: number, course: Course): Promise<Result> {
  const sum: Result = { held: 0, timeouts: 0, failures: 0, lost: 0, longest: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const result = await run(seed, course);
    sum.held += result.held;
    sum.timeouts += result.timeouts;
    sum.failures += result.failures;
    sum.lost += result.lost;
    sum.longest = Math.max(sum.longest, result.longest);
  }
  return sum;
}

/** Without ages, as the memory store has none: every master has an order of its own, and votes split often. */
describe('random schedules over several masters, whose queues are in different orders', () => {
  for (const masters of [3, 4, 5]) {
    it(`in calm weather everybody is served: ${masters} masters`, async () => {
      const weather = { delay: 3, loss: 0, pushLoss: 0 };
      const course = { masters, clients: 6, times: 8, weather, waitTimeout: 30_000 };
      const result = await runAll(6, course);
      expect(result).toMatchObject({ held: 6 * 6 * 8, timeouts: 0, failures: 0, lost: 0 });
    });

    it(`in bad weather nobody believes in another one's lock: ${masters} masters`, async () => {
      const weather = { delay: 5, loss: 0.03, pushLoss: 0.2 };
      const course = { masters, clients: 4, times: 8, weather, freezes: true, waitTimeout: 20_000 };
      const result = await runAll(6, course);
      process.stdout.write(`${masters} masters in bad weather: ${JSON.stringify(result)}\n`);
      expect(result.held).toBeGreaterThan(6 * 4 * 8 * 0.7);
    });

    it(`one try at a time gets through: ${masters} masters`, async () => {
      const weather = { delay: 3, loss: 0, pushLoss: 0 };
      const course = { masters, clients: 6, times: 20, weather, waitTimeout: 0 };
      const result = await runAll(6, course);
      process.stdout.write(`${masters} masters, one try: ${JSON.stringify(result)}\n`);
      expect(result.failures).toBe(0);
      expect(result.held).toBeGreaterThan(50);
    });
  }
});
