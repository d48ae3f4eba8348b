import { createLockService } from '../../../lib/module/redis-lock.composition.js';
import type { RedisConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import { resolveModuleOptions, type RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import { testedSentinel, withTestedClient, type TestedSentinel } from './clients.js';
import { started } from '../wait/started.mjs';

export interface LogLine {
  readonly level: 'debug' | 'log' | 'warn' | 'error';
  readonly text: string;
}

/** The lock services of a test, and their logs. They end with `closeAll()`. */
export class LockServices {
  readonly lines: LogLine[] = [];
  private readonly services: LockService[] = [];
  private readonly sentinels: TestedSentinel[] = [];

  /** A service that has not been started. It does not wait for holders when it is closed, unless the test says so. */
  make(options: RedisLockModuleOptions): LockService {
    const say = (level: LogLine['level']) => (text: string) => void this.lines.push({ level, text });
    const logger = { debug: say('debug'), log: say('log'), warn: say('warn'), error: say('error') };
    const sentinel = testedSentinel(options.connection);
    if (sentinel !== undefined) this.sentinels.push(sentinel);
    const connection = (sentinel as RedisConnectionOption | undefined) ?? withTestedClient(options.connection);
    const given = { shutdownTimeout: 0, ...options, ...(connection !== undefined && { connection }) };
    const service = createLockService(resolveModuleOptions(given), logger);
    this.services.push(service);
    return service;
  }

  /** A started service. */
  async start(options: RedisLockModuleOptions): Promise<LockService> {
    return started(this.make(options));
  }

  /** Closes all services so far. */
  async close(): Promise<void> {
    await Promise.all(this.services.splice(0).map((service) => service.close()));
    await Promise.all(this.sentinels.splice(0).map((sentinel) => sentinel.destroy()));
  }

  /** Closes all services so far, and drops their logs. */
  async closeAll(): Promise<void> {
    await this.close();
    this.lines.length = 0;
  }
}
