import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MikroORM, RequestContext } from '@mikro-orm/core';
import type { Replica } from '../support/replicas.js';
import { testTransactions } from '../support/transactions.js';
import { MikroOrmModule } from './mikro-orm.module.js';
import { Stock } from './stock.entity.js';
import { StockService } from './stock.service.js';

describe('transactions of MikroORM', () => {
  const replicas = testTransactions(MikroOrmModule, ({ app }) => {
    const { em } = app.get(MikroORM);
    return {
      insert: (sku, quantity) => em.fork().insert(Stock, { sku, quantity }),
      quantityOf: async (sku) => (await em.fork().findOneOrFail(Stock, { sku })).quantity,
      reserve: (sku, check) => app.get(StockService).reserve(sku, check),
    };
  });

  it('read what the holder before them has committed, not what their request has loaded earlier', async () => {
    const requestOn = ({ app }: Replica) => ({
      em: app.get(MikroORM).em,
      reserve: () => app.get(StockService).reserve('desk'),
    });
    const [first, second] = [requestOn(replicas[0]), requestOn(replicas[1])];
    await first.em.fork().insert(Stock, { sku: 'desk', quantity: 5 });
    await RequestContext.create(first.em, async () => {
      await first.em.findOneOrFail(Stock, { sku: 'desk' });
      assert.equal(await RequestContext.create(second.em, second.reserve), 4); // another request, with entities of its own
      assert.equal(await first.reserve(), 3);
    });
  });
});
