import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventEmitter2 } from '@nestjs/event-emitter';
import { eventually } from '../support/eventually.js';
import { newAccount, spread, useReplicas } from '../support/replicas.js';
import { EventsModule } from './events.module.js';

describe('event listeners', () => {
  const replicas = useReplicas(EventsModule);

  it('lose nothing, whichever replica has received an event', async () => {
    const customerId = newAccount();
    await spread(replicas, 20, ({ app }, i) =>
      app.get(EventEmitter2).emitAsync('order.paid', { orderId: `${customerId}-${i}`, customerId }),
    );
    assert.equal(await replicas[0].accounts.balance(customerId), 100);
  });

  it('with skip act once, although every replica has received it', async () => {
    const event = { orderId: newAccount(), customerId: newAccount() };
    await Promise.all(replicas.map(({ app }) => app.get(EventEmitter2).emitAsync('order.paid', event)));
    await eventually(async () => (await replicas[0].accounts.balance(event.customerId)) === 10);
    assert.equal(await replicas[0].accounts.balance(`receipts:${event.orderId}`), 1);
  });
});
