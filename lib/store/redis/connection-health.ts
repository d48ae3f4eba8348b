import type { LockLogger } from '../../common/logger.js';
import { readingClock } from '../../common/reading-timer.js';
import { LockStoreError } from '../../errors/index.js';
import { foreignError } from './foreign-error.js';
import { isAnswer, storeFailure } from './store-failure.js';

/**
 * Whether commands reach Redis; if not, since when and why. Logs outages: one line at the beginning, however long it takes,
 * and one when it is over.
 */
export class ConnectionHealth {
  /** The last error of the current outage, of commands or of subscriptions. */
  lastError: Error | undefined;
  private downSince: number | undefined;

  constructor(
    private readonly logger: LockLogger,
    /** After how many ms without a connection requests are of no use. */
    private readonly patience: number,
    private readonly clock = readingClock,
  ) {}

  /** The error of the connection for commands while it is down. */
  get commandError(): Error | undefined {
    return this.downSince === undefined ? undefined : this.lastError;
  }

  /** As in `LockStore`. */
  get unreachable(): LockStoreError | undefined {
    if (this.downSince === undefined) return undefined;
    const downFor = this.clock.now() - this.downSince;
    if (downFor < this.patience) return undefined;
    return downError(`Redis has been unreachable for ${Math.round(downFor)} ms`, this.commandError);
  }

  /** As in `LockStore`. */
  get outage(): LockStoreError | undefined {
    return this.commandError && downError('Redis cannot be reached', this.commandError);
  }

  /** The connection for commands stands. */
  up(): void {
    this.downSince = undefined;
  }

  /** The connection for commands is lost, or could not be made. */
  down(): void {
    this.downSince ??= this.clock.now();
  }

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

/** A server that was reached and refuses has said why. */
export function downError(otherwise: string, cause: Error | undefined, transient = true): LockStoreError {
  if (cause !== undefined && (isAnswer(cause) || /^Ready check failed/.test(cause.message))) {
    return new LockStoreError(storeFailure(cause).message, { cause, transient });
  }
  const why = cause === undefined ? '' : `: ${cause.message}`;
  return new LockStoreError(`${otherwise}${why}`, { cause, transient });
}
