import { presence } from '../../../lib/store/redis/replies.js';
import { weigh, type Subscription } from '../../../lib/store/redis/subscription.js';
import { FakeClock } from '../../../lab/testbed/clocks/fake-clock.js';

/** A request of one second ago finds a hold that was granted half a second before that. */
const LEASE = 3_000;
const LEFT = 2_500;
const SENT = 10_000;
const GRANTED = SENT - 500;

/**
 * How many doubts a retry raises that finds such a grant. `later`: what happens while the message may still arrive. `left`: of
 * the lease, in ms.
 */
function doubtsAbout(
  times: Pick<Subscription, 'since' | 'heardAt'>,
  later = (_subscription: Subscription): void => {},
  left = LEFT,
) {
  const doubts: string[] = [];
  const clock = new FakeClock();
  clock.stall(SENT - clock.now());
  const subscription: Subscription = { ...times, doubt: (why) => void doubts.push(why) };
  const reply = { outcome: 'held', time: 0, token: 1, lease: left, batchSize: 1 } as const;
  weigh({ sign: 'found', reply }, { lease: LEASE }, SENT, subscription, clock);
  later(subscription);
  clock.advance(LEASE);
  return doubts;
}

it('doubts a subscription on which no message has arrived since the grant', () => {
  const doubts = ['the message about a granted lock did not arrive'];
  expect(doubtsAbout({ since: 0, heardAt: -Infinity })).toEqual(doubts);
  expect(doubtsAbout({ since: 0, heardAt: GRANTED - 1 })).toEqual(doubts);
});

it('does not doubt a subscription on which a message has arrived since the grant, or still arrives in time', () => {
  expect(doubtsAbout({ since: 0, heardAt: GRANTED + 1 })).toEqual([]);
  expect(doubtsAbout({ since: 0, heardAt: 0 }, (subscription) => (subscription.heardAt = SENT + 400))).toEqual([]);
});

it('does not doubt a subscription whose message made the client retry, within one ms of the clock of the server', () => {
  expect(doubtsAbout({ since: 0, heardAt: SENT - 0.2 }, undefined, LEASE)).toEqual([]);
});

it('does not doubt a subscription that was confirmed after the grant', () => {
  expect(doubtsAbout({ since: GRANTED + 1, heardAt: -Infinity })).toEqual([]);
});

it('has the server look for a subscriber, unless a message has just arrived', () => {
  const subscription = { since: 0, heardAt: 1_000, doubt: () => undefined };
  expect(presence(undefined, 1_100)).toBe(0);
  expect(presence(subscription, 1_100)).toBe(2);
  expect(presence(subscription, 1_600)).toBe(1);
  expect(presence({ ...subscription, heardAt: -Infinity }, 1_100)).toBe(1);
});
