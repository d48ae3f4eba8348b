import { BullModule, Processor, WorkerHost } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import type { Job } from 'bullmq';
import { RedisLockModule } from 'nestjs-redis-locks';
import { REDIS, Reports } from './reports.js';

@Processor('reports')
class ReportsProcessor extends WorkerHost {
  constructor(private readonly reports: Reports) {
    super();
  }

  process(job: Job<string>): Promise<string> {
    return this.reports.write(job.data);
  }
}

/** BullMQ opens its own connections: both get the same options. */
@Module({
  imports: [
    BullModule.forRoot({ connection: REDIS }),
    BullModule.registerQueue({ name: 'reports' }),
    RedisLockModule.forRoot({ connection: REDIS }),
  ],
  providers: [Reports, ReportsProcessor],
})
export class BullmqModule {}
