import type { LockLogger } from '../../common/logger.js';
import { foreignError } from './foreign-error.js';

/** Logs outages: one line at the beginning, however long it takes, and one when it is over. */
export class ConnectionLog {
  /** The last error of the current outage. */
  lastError: Error | undefined;

  constructor(private readonly logger: LockLogger) {}

  failed(error: Error): void {
    const first = this.lastError === undefined;
    this.lastError = foreignError(error);
    if (first) this.logger.error(`Redis connection failed, retrying: ${this.lastError.message}`);
  }

  recovered(): void {
    if (this.lastError === undefined) return;
    this.lastError = undefined;
    this.logger.log('Redis is connected again');
  }
}
