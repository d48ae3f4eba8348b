import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { LockExceptionFilter } from 'nestjs-redis-locks';
import { AccountsModule } from '../support/accounts.js';
import { AccountsController } from './accounts.controller.js';

@Module({
  imports: [AccountsModule],
  controllers: [AccountsController],
  // 423 with Retry-After where others held the lock, 503 where Redis failed.
  providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
})
export class HttpModule {}
