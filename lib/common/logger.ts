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
  return levels((level, message) => {
    try {
      logger[level](message);
    } catch (error) {
      if (!warned) warnOfObserver('the logger of nestjs-redis-locks', error);
      warned = true;
    }
  });
}

/** Keeps each log line on one line, whatever keys, owners and foreign errors contain. */
export const singleLine = (logger: LockLogger): LockLogger =>
  levels((level, message) => logger[level](printable(message)));

/** Puts a label before each log line, such as the name of a master. */
export const labelled = (logger: LockLogger, label: string): LockLogger =>
  levels((level, message) => logger[level](`${label}: ${message}`));

/** A logger that does the same at each level. */
function levels(write: (level: keyof LockLogger, message: string) => void): LockLogger {
  const at = (level: keyof LockLogger) => (message: string) => write(level, message);
  return { debug: at('debug'), log: at('log'), warn: at('warn'), error: at('error') };
}
