import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import Database from 'libsql';
import { AccountsModule } from '../support/accounts.js';
import { Stock } from './stock.entity.js';
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
  ],
  providers: [StockService],
})
export class StockModule {}
