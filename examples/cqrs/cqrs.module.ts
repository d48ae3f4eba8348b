import { Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { AccountsModule } from '../support/accounts.js';
import { FeeHandler, TransferHandler } from './transfer.js';

@Module({ imports: [AccountsModule, CqrsModule.forRoot()], providers: [TransferHandler, FeeHandler] })
export class TransfersModule {}
