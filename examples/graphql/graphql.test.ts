import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAccount, spread, useReplicas, whileHeld, type Replica } from '../support/replicas.js';
import { AccountsGraphqlModule } from './graphql.module.js';

interface Answer {
  data: Record<string, { balance: number }> | null;
  errors?: Array<{ message: string; path: string[]; extensions: Record<string, unknown> }>;
}

async function ask({ url }: Replica, query: string): Promise<Answer> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return (await answer.json()) as Answer;
}

const change = (replica: Replica, field: 'deposit' | 'withdraw', account: string): Promise<Answer> =>
  ask(replica, `mutation { ${field}(id: "${account}", amount: 5) { balance } }`);

describe('GraphQL resolvers', () => {
  const replicas = useReplicas(AccountsGraphqlModule);

  it('lose no deposit, whichever replica is asked', async () => {
    const account = newAccount();
    const answers = await spread(replicas, 20, (replica) => change(replica, 'deposit', account));
    assert.deepEqual(
      answers.flatMap(({ errors = [] }) => errors),
      [],
    );
    const { data } = await ask(replicas[0], `{ account(id: "${account}") { balance } }`);
    assert.equal(data?.['account']?.balance, 100);
  });

  it('answer with an error that has a code and names no key if another caller holds the account', async () => {
    const account = newAccount();
    const [first, second] = replicas;
    await whileHeld(first, `account:${account}`, async () => {
      const { data, errors } = await change(second, 'withdraw', account);
      assert.equal(data, null);
      assert.equal(errors?.length, 1);
      assert.deepEqual(errors[0]!.path, ['withdraw']);
      assert.equal(errors[0]!.extensions['code'], 'LOCK_TIMEOUT');
      assert.ok(!JSON.stringify(errors).includes(account));
    });
    assert.equal((await change(second, 'withdraw', account)).data?.['withdraw']?.balance, -5);
  });

  it('of one request run one after the other for one account', async () => {
    const account = newAccount();
    const deposits = [1, 2, 3].map((n) => `d${n}: deposit(id: "${account}", amount: ${n}) { balance }`);
    const { data } = await ask(replicas[0], `mutation { ${deposits.join(' ')} }`);
    assert.deepEqual(
      Object.values(data!).map(({ balance }) => balance),
      [1, 3, 6],
    );
  });
});
