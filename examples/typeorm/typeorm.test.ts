import { describe } from 'node:test';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { testTransactions } from '../support/transactions.js';
import { Stock } from './stock.entity.js';
import { StockService } from './stock.service.js';
import { StockModule } from './typeorm.module.js';

describe('transactions of TypeORM', () => {
  testTransactions(StockModule, ({ app }) => {
    const { manager } = app.get<DataSource>(getDataSourceToken());
    return {
      insert: (sku, quantity) => manager.insert(Stock, { sku, quantity }),
      quantityOf: async (sku) => (await manager.findOneByOrFail(Stock, { sku })).quantity,
      reserve: (sku, check) => app.get(StockService).reserve(sku, 1, check),
    };
  });
});
