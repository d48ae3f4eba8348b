import { printable } from './describe.js';

/** Where the library says what an operator has to know. Nest's `Logger` is one. */
export interface LockLogger {
  debug(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** A logger whose lines stay one line each, whatever keys, owners and foreign errors hold. */
export const singleLine = (logger: LockLogger): LockLogger => ({
  debug: (message) => logger.debug(printable(message)),
  log: (message) => logger.log(printable(message)),
  warn: (message) => logger.warn(printable(message)),
  error: (message) => logger.error(printable(message)),
});

/** A logger whose lines say of which of several they speak. */
export const labelled = (logger: LockLogger, label: string): LockLogger => ({
  debug: (message) => logger.debug(`${label}: ${message}`),
  log: (message) => logger.log(`${label}: ${message}`),
  warn: (message) => logger.warn(`${label}: ${message}`),
  error: (message) => logger.error(`${label}: ${message}`),
});
