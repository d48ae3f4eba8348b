import { describe } from 'node:test';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { testTransactions } from '../support/transactions.js';
import { Stock } from '../typeorm/stock.entity.js';
import { ClsStockModule } from './cls-transactional.module.js';
import { StockService } from './stock.service.js';

describe('@Transactional of nestjs-cls', () => {
  testTransactions(ClsStockModule, ({ app }) => {
    const { manager } = app.get<DataSource>(getDataSourceToken());
    return {
      insert: (sku, quantity) => manager.insert(Stock, { sku, quantity }),
      quantityOf: async (sku) => (await manager.findOneByOrFail(Stock, { sku })).quantity,
      reserve: (sku, check) => app.get(StockService).reserve(sku, check),
    };
  });
});
