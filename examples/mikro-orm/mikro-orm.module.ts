import { EntityManager, MikroORM } from '@mikro-orm/core';
import { LibSqlDriver } from '@mikro-orm/libsql';
import { Module, type OnModuleDestroy } from '@nestjs/common';
import { AccountsModule } from '../support/accounts.js';
import { Stock } from './stock.entity.js';
import { StockService } from './stock.service.js';

@Module({
  imports: [AccountsModule],
  providers: [
    {
      provide: MikroORM,
      useFactory: async () => {
        const orm = await MikroORM.init({
          driver: LibSqlDriver,
          dbName: process.env['DATABASE'] ?? 'stock.sqlite',
          entities: [Stock],
        });
        await orm.schema.updateSchema(); // stands for the migrations of an application
        return orm;
      },
    },
    { provide: EntityManager, inject: [MikroORM], useFactory: (orm: MikroORM) => orm.em },
    StockService,
  ],
})
export class MikroOrmModule implements OnModuleDestroy {
  constructor(private readonly orm: MikroORM) {}

  async onModuleDestroy(): Promise<void> {
    await this.orm.close();
  }
}
