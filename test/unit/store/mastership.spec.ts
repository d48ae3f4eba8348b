import { jest } from '@jest/globals';
import { systemClock } from '../../../lib/common/clock.js';
import { Mastership, UNDOUBTED } from '../../../lib/store/redis/mastership.js';
import { deferred, type Deferred } from '../../../lab/testbed/wait/deferred.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** A server about which the test answers, by a clock that the test sets. */
function setUp() {
  const asked: Array<Deferred<boolean>> = [];
  const clock = { now: 1_000 };
  // It counts suspensions, which performance.now() does not.
  jest.spyOn(systemClock, 'now').mockImplementation(() => clock.now);
  const mastership = new Mastership(() => {
    const answer = deferred<boolean>();
    asked.push(answer);
    return answer;
  });
  return { asked, clock, mastership };
}

it('asks about the first message, and about none that follows soon', async () => {
  const { asked, clock, mastership } = setUp();
  const first = mastership.confirm('a');
  asked[0]!.resolve(true);
  expect(await first).toBe(true);
  for (let messages = 0; messages < 10; messages++) {
    clock.now += UNDOUBTED;
    expect(mastership.confirm('a')).toBeUndefined();
  }
  expect(asked).toHaveLength(1);
});

it('asks again after a silence, once for all messages that arrive until the answer', async () => {
  const { asked, clock, mastership } = setUp();
  void mastership.confirm('a');
  asked[0]!.resolve(true);
  await asked[0];
  clock.now += UNDOUBTED + 1;
  const confirmed = [mastership.confirm('a'), mastership.confirm('b')];
  expect(mastership.isAsking).toBe(true);
  asked[1]!.resolve(true);
  expect([await confirmed[0], await confirmed[1]]).toEqual([true, true]);
  expect(asked).toHaveLength(2);
});

it('a server that is not confirmed is asked about with each message', async () => {
  const { asked, mastership } = setUp();
  const first = mastership.confirm('a');
  asked[0]!.resolve(false);
  expect(await first).toBe(false);
  void mastership.confirm('a');
  expect(asked).toHaveLength(2);
});
