import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { getDataSourceToken } from '@nestjs/typeorm';
import { isLockLostError } from 'nestjs-redis-locks';
import type { DataSource } from 'typeorm';
import { spread, useReplicas } from '../support/replicas.js';
import { Stock } from '../typeorm/stock.entity.js';
import { StockService } from './stock.service.js';
import { ClsStockModule } from './cls-transactional.module.js';

const directory = mkdtempSync(join(tmpdir(), 'locks-example-'));
process.env['DATABASE'] = join(directory, 'stock.sqlite');

describe('@Transactional of nestjs-cls', () => {
  const replicas = useReplicas(ClsStockModule);
  after(() => rmSync(directory, { recursive: true, force: true }));

  let database: DataSource;
  before(() => {
    database = replicas[0].app.get<DataSource>(getDataSourceToken());
  });
  const stockOf = async (sku: string): Promise<number> =>
    (await database.manager.findOneByOrFail(Stock, { sku })).quantity;

  it('within a lock sell what there is, and no more', async () => {
    await database.manager.insert(Stock, { sku: 'lamp', quantity: 15 });
    const sales = await spread(replicas, 20, ({ app }) =>
      app
        .get(StockService)
        .reserve('lamp')
        .then(
          () => 'sold',
          (error: Error) => error.message,
        ),
    );
    assert.equal(sales.filter((sale) => sale === 'sold').length, 15);
    assert.equal(sales.filter((sale) => sale === 'lamp is sold out').length, 5);
    assert.equal(await stockOf('lamp'), 0);
  });

  it('are rolled back when the lock was lost before the commit', async () => {
    await database.manager.insert(Stock, { sku: 'chair', quantity: 5 });
    const [first, second] = replicas;
    const takenAway = (): Promise<unknown> => second.locks.forceRelease('stock:chair');
    await assert.rejects(first.app.get(StockService).reserve('chair', takenAway), isLockLostError);
    assert.equal(await stockOf('chair'), 5);
    assert.equal(await second.app.get(StockService).reserve('chair'), 4);
  });
});
