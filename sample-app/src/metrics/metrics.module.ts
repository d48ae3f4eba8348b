import { Module } from '@nestjs/common';
import { LockMetrics } from './lock-metrics.js';
import { MetricsController } from './metrics.controller.js';

@Module({
  controllers: [MetricsController],
  providers: [LockMetrics],
})
export class MetricsModule {}
