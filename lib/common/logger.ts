import { printable } from './describe.js';
import { warnOfObserver } from './observed.js';

/** Where the library says what an operator has to know. Nest's `Logger` is one. */
export interface LockLogger {
  debug(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** A logger that never throws: what the application's own throws stops nothing. Of the first time the process is warned. */
export function sturdy(logger: LockLogger): LockLogger {
  let warned = false;
  const say =
    (level: keyof LockLogger) =>
    (message: string): void => {
      try {
        logger[level](message);
      } catch (error) {
        if (!warned) warnOfObserver('the logger of nestjs-redis-locks', error);
        warned = true;
      }
    };
  return { debug: say('debug'), log: say('log'), warn: say('warn'), error: say('error') };
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
