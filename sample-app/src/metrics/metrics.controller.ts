import { Controller, Get } from '@nestjs/common';
import { LockMetrics, type LockMetricsReport } from './lock-metrics.js';

@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: LockMetrics) {}

  @Get('locks')
  locks(): LockMetricsReport {
    return this.metrics.report();
  }
}
