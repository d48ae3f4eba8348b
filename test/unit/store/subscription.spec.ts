import { SubscriptionEvidence, type Subscription } from '../../../lib/store/redis/subscription.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

/** A request of one second ago, whose hold was granted half a second ago. */
const LEASE = 3_000;
const LEFT = 2_500;

function setUp() {
  const evidence = new SubscriptionEvidence();
  const doubts: string[] = [];
  const find = (id: string): void => {
    const subscription: Subscription = { since: -Infinity, doubt: () => void doubts.push(id) };
    const reply = { outcome: 'held', time: 0, token: 1, lease: LEFT, batchSize: 1 } as const;
    evidence.weigh({ sign: 'found', reply }, { id, lease: LEASE }, performance.now(), subscription);
  };
  return { evidence, doubts, find };
}

it('doubts a subscription on which the message about a grant does not arrive', async () => {
  const { evidence, doubts, find } = setUp();
  evidence.heard('known', 'a');
  find('known');
  find('late');
  find('lost');
  evidence.heard('late', 'a');
  await eventually(() => doubts.includes('lost'), { what: 'a doubt' });
  expect(doubts).toEqual(['lost']);
});

it('remembers a message of the last second, however many have arrived since', async () => {
  const { evidence, doubts, find } = setUp();
  const burst = (name: string): void => {
    for (let i = 0; i < 5_000; i++) evidence.heard(`${name}${i}`, 'a');
  };
  evidence.heard('before', 'a');
  burst('b');
  find('before');
  find('after');
  evidence.heard('after', 'a');
  burst('a');
  find('lost');
  await eventually(() => doubts.includes('lost'), { what: 'a doubt' });
  expect(doubts).toEqual(['lost']);
});
