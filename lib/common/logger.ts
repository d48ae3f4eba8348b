import { printable } from './describe.js';
import { warnOfObserver } from './observed.js';

/** Receives the log lines of the library. Nest's `Logger` is one. */
export interface LockLogger {
  debug(message: string): void;
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Wraps a logger of the application that may throw. The first error becomes a process warning. */
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

/** Keeps each log line on one line, whatever keys, owners and foreign errors contain. */
export const singleLine = (logger: LockLogger): LockLogger => ({
  debug: (message) => logger.debug(printable(message)),
  log: (message) => logger.log(printable(message)),
  warn: (message) => logger.warn(printable(message)),
  error: (message) => logger.error(printable(message)),
});

/** Puts a label before each log line, such as the name of a master. */
export const labelled = (logger: LockLogger, label: string): LockLogger => ({
  debug: (message) => logger.debug(`${label}: ${message}`),
  log: (message) => logger.log(`${label}: ${message}`),
  warn: (message) => logger.warn(`${label}: ${message}`),
  error: (message) => logger.error(`${label}: ${message}`),
});
