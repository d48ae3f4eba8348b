import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AccountsModule } from './accounts.js';
import { newAccount, spread, useReplicas } from './replicas.js';

describe('the accounts of the examples', () => {
  const replicas = useReplicas(AccountsModule);

  it('lose deposits without a lock, so what keeps them exact elsewhere is the lock', async () => {
    const account = newAccount();
    await spread(replicas, 20, ({ accounts }) => accounts.deposit(account, 5));
    assert.ok((await replicas[0].accounts.balance(account)) < 100);
  });

  it('are exact with one', async () => {
    const account = newAccount();
    await spread(replicas, 20, ({ locks, accounts }) => locks.run(account, () => accounts.deposit(account, 5)));
    assert.equal(await replicas[0].accounts.balance(account), 100);
  });
});
