import { Body, Controller, Get, HttpCode, Param, ParseIntPipe, Post } from '@nestjs/common';
import { ImportJob, type ImportRun } from './import.job.js';
import { NightlyJob } from './nightly.job.js';

/** Starts jobs by hand, for operators and for the demo. */
@Controller('jobs')
export class JobsController {
  constructor(
    private readonly nightly: NightlyJob,
    private readonly imports: ImportJob,
  ) {}

  @Post('nightly')
  @HttpCode(200)
  async runNightly(): Promise<{ ran: boolean }> {
    return { ran: (await this.nightly.closeTheDay()) !== undefined };
  }

  @Get('nightly')
  async nightlyRuns(): Promise<{ daysClosed: number }> {
    return { daysClosed: await this.nightly.daysClosed() };
  }

  @Post('import/:list')
  @HttpCode(200)
  runImport(@Param('list') list: string, @Body('rows', ParseIntPipe) rows: number): Promise<ImportRun> {
    return this.imports.import(list, rows);
  }

  @Get('import/:list')
  async importProgress(@Param('list') list: string): Promise<{ rowsDone: number }> {
    return { rowsDone: await this.imports.rowsDone(list) };
  }
}
