import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { AccountsModule } from '../support/accounts.js';
import { MonthEndJob } from './month-end.job.js';

@Module({ imports: [AccountsModule, ScheduleModule.forRoot()], providers: [MonthEndJob] })
export class JobsModule {}
