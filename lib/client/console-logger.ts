/* eslint-disable no-console -- without Nest there is no other place for log lines */
import type { LockLogger } from '../common/logger.js';

/** Writes to the console, without the lines that only explain what the library does. */
export const consoleLogger: LockLogger = {
  debug: () => undefined,
  log: (message) => console.log(line(message)),
  warn: (message) => console.warn(line(message)),
  error: (message) => console.error(line(message)),
};

const line = (message: string): string => `nestjs-redis-locks: ${message}`;
