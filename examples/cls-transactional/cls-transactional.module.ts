import { Module } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import Database from 'libsql';
import { ClsModule } from 'nestjs-cls';
import { AccountsModule } from '../support/accounts.js';
import { Stock } from '../typeorm/stock.entity.js';
import { StockService } from './stock.service.js';

@Module({
  imports: [
    AccountsModule,
    TypeOrmModule.forRootAsync({
      useFactory: () => ({
        type: 'better-sqlite3',
        driver: Database, // the same interface, and nothing to compile
        database: process.env['DATABASE'] ?? 'stock.sqlite',
        entities: [Stock],
        synchronize: true,
      }),
    }),
    ClsModule.forRoot({
      plugins: [
        new ClsPluginTransactional({
          imports: [TypeOrmModule],
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() }),
        }),
      ],
    }),
  ],
  providers: [StockService],
})
export class ClsStockModule {}
