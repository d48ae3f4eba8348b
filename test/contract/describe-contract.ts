import { lockStoreContract, type LockStoreHarness } from 'nestjs-redis-locks/testing';
import { overlapping } from '../../lab/testbed/wait/overlapping.js';

export interface ContractOptions {
  /** So many cases run at the same time, default 3: each has keys and clients of its own, and mostly waits. */
  readonly atOnce?: number;
  /** The cases that run; all by default. */
  readonly isChosen?: (name: string) => boolean;
  /** See `LockStoreHarness`. */
  readonly deliversOnce?: boolean;
}

/**
 * Runs the contract of stores, or some of its cases, on servers that are started before them and have a real clock. The
 * cases are named before that. Returns the names of the cases.
 */
export function describeContract(
  name: string,
  start: () => Promise<LockStoreHarness>,
  { atOnce = 3, isChosen = () => true, deliversOnce = false }: ContractOptions = {},
): string[] {
  let harness!: LockStoreHarness;
  const later: LockStoreHarness = {
    client: (options) => harness.client(options),
    store: () => harness.store(),
    truth: (key) => harness.truth(key),
    sleep: (ms) => harness.sleep(ms),
    now: () => harness.now(),
    deliversOnce,
    stop: () => harness.stop(),
    get absenceNoticedAfter() {
      return harness.absenceNoticedAfter;
    },
  };
  const cases = lockStoreContract(later).filter((each) => isChosen(each.name));
  const running = overlapping(
    cases.map(({ run }) => run),
    atOnce,
  );
  describe(name, () => {
    beforeAll(async () => {
      harness = await start();
    });
    afterAll(async () => {
      await running.settled();
      await harness.stop();
    });
    for (const [i, each] of cases.entries()) it(each.name, () => running.run(i));
  });
  return cases.map((each) => each.name);
}
