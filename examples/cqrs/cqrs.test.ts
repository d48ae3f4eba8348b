import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CommandBus } from '@nestjs/cqrs';
import { isLockTimeoutError } from 'nestjs-redis-locks';
import { eventually } from '../support/eventually.js';
import { newAccount, spread, useReplicas, whileHeld } from '../support/replicas.js';
import { TransfersModule } from './cqrs.module.js';
import { Transfer, TransferHandler } from './transfer.js';

describe('handlers of CQRS', () => {
  const replicas = useReplicas(TransfersModule);

  it('lose nothing when transfers cross, whichever replica is asked', async () => {
    const [ann, bob] = [newAccount(), newAccount()];
    await spread(replicas, 20, ({ app }, i) => {
      const [from, to] = i % 3 === 0 ? [bob, ann] : [ann, bob];
      return app.get(CommandBus).execute(new Transfer(String(i), from, to, 5));
    });
    const { accounts } = replicas[0];
    assert.deepEqual([await accounts.balance(ann), await accounts.balance(bob)], [-30, 30]);
    // 13 of Ann's and 7 of Bob's: handlers of events run on, and lock for themselves.
    await eventually(
      async () => (await accounts.balance(`${ann}:fees`)) + (await accounts.balance(`${bob}:fees`)) === 20,
    );
  });

  it('touch neither account while one of them is taken', async () => {
    const [ann, bob] = [newAccount(), newAccount()];
    const [first, second] = replicas;
    const handler = second.app.get(TransferHandler);
    await whileHeld(first, `account:${bob}`, async () => {
      const transfer = handler.execute(new Transfer('1', ann, bob, 5));
      await assert.rejects(transfer, isLockTimeoutError);
    });
    assert.equal(await first.accounts.balance(ann), 0);
    assert.equal(await first.locks.getLock(`account:${ann}`).isLocked(), false);
  });
});
