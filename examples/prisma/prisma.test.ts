import { describe } from 'node:test';
import { testTransactions } from '../support/transactions.js';
import { Database } from './database.js';
import { PrismaModule } from './prisma.module.js';
import { StockService } from './stock.service.js';

describe('transactions of Prisma', () => {
  testTransactions(PrismaModule, ({ app }) => {
    const { stock } = app.get(Database);
    return {
      insert: (sku, quantity) => stock.create({ data: { sku, quantity } }),
      quantityOf: async (sku) => (await stock.findUniqueOrThrow({ where: { sku } })).quantity,
      reserve: (sku, check) => app.get(StockService).reserve(sku, check),
    };
  });
});
