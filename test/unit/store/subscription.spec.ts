import { expect, it } from '@jest/globals';
import { SubscriptionEvidence, type Question, type Subscription } from '../../../lib/store/redis/subscription.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

/** A question of one second ago, whose hold was granted half a second ago. */
const LEASE = 3_000;
const LEFT = 2_500;

function setUp() {
  const evidence = new SubscriptionEvidence();
  const doubts: string[] = [];
  const question = (id: string): Question => {
    const subscription = { since: -Infinity, doubt: () => void doubts.push(id) } as unknown as Subscription;
    return { id, lease: LEASE, sent: performance.now(), subscription };
  };
  return { evidence, doubts, question };
}

it('doubts a subscription on which the message about a grant does not arrive', async () => {
  const { evidence, doubts, question } = setUp();
  evidence.heard('known', 'a');
  evidence.weigh('found', question('known'), LEFT);
  evidence.weigh('found', question('late'), LEFT);
  evidence.weigh('found', question('lost'), LEFT);
  evidence.heard('late', 'a');
  await eventually(() => doubts.includes('lost'), { what: 'a doubt' });
  expect(doubts).toEqual(['lost']);
});

it('remembers a message of the last second, however many have arrived since', async () => {
  const { evidence, doubts, question } = setUp();
  const burst = (name: string): void => {
    for (let i = 0; i < 5_000; i++) evidence.heard(`${name}${i}`, 'a');
  };
  evidence.heard('before', 'a');
  burst('b');
  evidence.weigh('found', question('before'), LEFT);
  evidence.weigh('found', question('after'), LEFT);
  evidence.heard('after', 'a');
  burst('a');
  evidence.weigh('found', question('lost'), LEFT);
  await eventually(() => doubts.includes('lost'), { what: 'a doubt' });
  expect(doubts).toEqual(['lost']);
});
