import { expect, it } from '@jest/globals';
import { lockOf } from '../../../lib/dashboard/lock-view.js';
import type { LockHolder, LockState } from '../../../lib/service/lock-state.js';

const hold = (since: number): LockState =>
  ({
    ...{ key: 'a', fencingToken: 1, permits: undefined, waiters: [], waitingHere: 0 },
    holders: [
      { id: '1', client: 'c', owner: 'ann', kind: 'exclusive', ttl: 30_000, since: new Date(since) } as LockHolder,
    ],
  }) as unknown as LockState;

it.each([
  ['a hold', 400, 600],
  ['a hold that has just begun', 1_100, 0],
  ['a hold of Redisson, which does not write since when', NaN, undefined],
])('the age of %s', (_what, since, age) => {
  expect(lockOf(hold(since), 1_000).holders).toMatchObject([{ name: 'ann', lease: 30_000, age, overdue: false }]);
});
