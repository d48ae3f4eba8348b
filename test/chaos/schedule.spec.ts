import { expect, it } from '@jest/globals';
import { EVERYWHERE } from '../../chaos/faults/index.mjs';
import { planOperations } from '../../chaos/schedule/operations.mjs';
import { planFaults } from '../../chaos/schedule/schedule.mjs';
import { loadTopology } from '../../chaos/topologies/index.mjs';

const scope = { length: 60_000, kinds: EVERYWHERE, clients: ['c1', 'c2'], servers: 3, keys: ['red', 'green'] };

it('the same seed makes the same faults, another one others', () => {
  expect(planFaults({ ...scope, seed: 7 })).toEqual(planFaults({ ...scope, seed: 7 }));
  expect(planFaults({ ...scope, seed: 7 })).not.toEqual(planFaults({ ...scope, seed: 8 }));
});

it('all kinds of faults have their turn, alone and together, within the time of the run', () => {
  const faults = planFaults({ ...scope, seed: 7 });
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(EVERYWHERE.map(({ name }) => name)));
  expect(new Set(faults.map(({ alone }) => alone))).toEqual(new Set([true, false]));
  for (const { at } of faults) expect(at).toBeLessThan(scope.length);
});

it('the same seed makes the same operations, of each caller its own', () => {
  const some = (seed: number, loop: number): object[] => {
    const plans = planOperations({
      seed,
      loop,
      client: 'c1',
      keys: scope.keys,
      kinds: ['exclusive', 'read', 'several'],
    });
    return Array.from({ length: 50 }, () => plans.next().value);
  };
  expect(some(7, 0)).toEqual(some(7, 0));
  expect(some(7, 0)).not.toEqual(some(7, 1));
  expect(some(7, 0)).not.toEqual(some(8, 0));
});

it('says of a topology that there is none, and which there are', async () => {
  const message = '--topology: there is no ring; there are single, redlock, redlock-5, sentinel, cluster';
  await expect(loadTopology('ring')).rejects.toThrow(message);
});
