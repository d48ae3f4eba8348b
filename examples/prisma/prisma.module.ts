import { Module } from '@nestjs/common';
import { AccountsModule } from '../support/accounts.js';
import { Database } from './database.js';
import { StockService } from './stock.service.js';

@Module({ imports: [AccountsModule], providers: [Database, StockService] })
export class PrismaModule {}
