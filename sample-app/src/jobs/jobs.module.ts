import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { JobsController } from './jobs.controller.js';
import { ImportJob } from './import.job.js';
import { NightlyJob } from './nightly.job.js';

@Module({
  imports: [ScheduleModule.forRoot()],
  controllers: [JobsController],
  providers: [NightlyJob, ImportJob],
})
export class JobsModule {}
