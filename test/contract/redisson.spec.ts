import { describeContract } from './describe-contract.js';
import { redissonHarness } from './harnesses.js';

/**
 * The cases about what Redisson's protocol can express. The others need a queue in Redis, an owner in several processes, or a
 * kind of lock that this protocol refuses: test/integration/redisson has the refusals.
 */
const CASES: readonly string[] = [
  'a lock has one holder at a time, and can be acquired again after its release',
  'a client that does not hold a lock cannot release it',
  'a release after the end of the lease does not affect the next holder',
  'a fixed lease is not renewed: a waiter is granted the lock when it ends',
  'a renewed lock outlasts its lease many times, and verify confirms it',
  'after maxRenewTimes renewals the lease expires, and its holder is notified first',
  'tryLock waits for its wait time, and waitTimeout: 0 does not wait',
  'remainTimeToLive is the rest of the lease, and -2 for a free key',
  'fencing tokens grow strictly, across all clients',
  '8 clients with several waiters each lose no update, and every waiter is granted the lock',
  'the lock of a crashed client becomes free within its lease',
  'requests for the same keys in opposite order never deadlock',
  'a duplicate acquire adds no second hold',
  'an acquire that arrives after its acquisition was abandoned holds nothing',
  'a hold that has ended is not renewed, and a renewal never shortens a lease',
  'a forced release notifies the holder and ends its hold',
];

const run = describeContract('the protocol of Redisson', redissonHarness, {
  isChosen: (name) => CASES.includes(name),
});

it('the contract has all cases that are named here', () => {
  expect(run.sort()).toEqual([...CASES].sort());
});
