import type { LockLogger } from '../common/logger.js';

/**
 * Writes warnings, errors and notices to the console: without Nest, log lines have no other place. Leaves out the lines that
 * only explain what the library does.
 */
export const consoleLogger: LockLogger = {
  debug: () => undefined,
  log: (message) => console.log(line(message)),
  warn: (message) => console.warn(line(message)),
  error: (message) => console.error(line(message)),
};

const line = (message: string): string => `nestjs-redis-locks: ${message}`;
