import { EVERYWHERE } from '../../lab/chaos/faults/index.mjs';
import { AMONG_MASTERS } from '../../lab/chaos/faults/masters.mjs';
import { HOLDER_NAMES, longestLease, planOperations } from '../../lab/chaos/schedule/operations.mjs';
import { planFaults } from '../../lab/chaos/schedule/schedule.mjs';
import { loadTopology } from '../../lab/chaos/topologies/index.mjs';

const scope = {
  ...{ length: 60_000, kinds: EVERYWHERE, clients: ['c1', 'c2'], servers: 3, keys: ['red', 'green'] },
  longestLease: 500,
};

/** The first operations of a caller. */
function plansOf(count: number, terms: Partial<Parameters<typeof planOperations>[0]>): object[] {
  const plans = planOperations({ seed: 7, loop: 0, client: 'c1', keys: scope.keys, kinds: [], ...terms });
  return Array.from({ length: count }, () => plans.next().value);
}

it('the same seed gives the same faults, and another seed gives others', () => {
  expect(planFaults({ ...scope, seed: 7 })).toEqual(planFaults({ ...scope, seed: 7 }));
  expect(planFaults({ ...scope, seed: 7 })).not.toEqual(planFaults({ ...scope, seed: 8 }));
});

it('all kinds of faults occur within a run, alone and together', () => {
  const faults = planFaults({ ...scope, seed: 7 });
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(EVERYWHERE.map(({ name }) => name)));
  expect(new Set(faults.map(({ alone }) => alone))).toEqual(new Set([true, false]));
  for (const { at } of faults) expect(at).toBeLessThan(scope.length);
});

it('there is time to reconnect between two faults that take away a majority, however few kinds there are', () => {
  const kinds = AMONG_MASTERS.filter(({ name }) => name.startsWith('majority'));
  expect(kinds).toHaveLength(2);
  for (const seed of [1, 2, 3]) {
    const faults = planFaults({ ...scope, seed, kinds });
    expect(faults.length).toBeGreaterThan(5);
    for (const [i, { at }] of faults.slice(1).entries()) {
      const before = faults[i]!;
      expect(before.takes).toBeGreaterThan(before.lasts!);
      expect(at - (before.at + before.takes!)).toBeGreaterThanOrEqual(1_500);
    }
  }
});

it.each([undefined, ...HOLDER_NAMES])('a majority is away for longer than any lease of callers (%s)', (holders) => {
  const kinds = AMONG_MASTERS.filter(({ name }) => name.startsWith('majority'));
  for (const renewed of [500, 3_000]) {
    const longest = longestLease(holders, renewed);
    for (const { lasts } of planFaults({ ...scope, seed: 7, kinds, longestLease: longest })) {
      expect(lasts).toBeGreaterThan(1.02 * longest);
    }
    const keys = ['red', 'green', 'blue'];
    const asked = plansOf(500, { keys, kinds: ['exclusive', 'fair'], holders }).flatMap(leasesIn);
    expect(Math.max(renewed, ...asked)).toBeLessThanOrEqual(longest);
  }
});

/** The leases that an operation asks for, in ms. */
function leasesIn(plan: object): number[] {
  return Object.entries(plan).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null
      ? leasesIn(value as object)
      : ['expire', 'lease'].includes(name)
        ? [Number(value)]
        : [],
  );
}

it.each(HOLDER_NAMES.filter((name) => name !== 'crowd'))(
  'callers of one kind (%s) request their own lock',
  (holders) => {
    const some = plansOf(50, { kinds: ['read'], holders });
    const kind = holders === 'pairs' ? 'several' : 'exclusive';
    for (const plan of some) expect(plan).toMatchObject({ kind, mode: 'exclusive' });
    expect(new Set(some.map((plan) => JSON.stringify(plan))).size).toBeGreaterThan(40);
  },
);

it('the same seed gives the same operations, different for each caller', () => {
  const some = (seed: number, loop: number): object[] =>
    plansOf(50, { seed, loop, kinds: ['exclusive', 'read', 'several'] });
  expect(some(7, 0)).toEqual(some(7, 0));
  expect(some(7, 0)).not.toEqual(some(7, 1));
  expect(some(7, 0)).not.toEqual(some(8, 0));
});

it('refuses an unknown topology, and names the known ones', async () => {
  const message =
    '--topology: there is no ring; there are single, endpoint, redlock, redlock-5, sentinel, cluster, redisson';
  await expect(loadTopology('ring')).rejects.toThrow(message);
});
