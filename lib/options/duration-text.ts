import { readDuration } from './option-readers.js';

/**
 * Reads a duration from a text that is only known at run time, such as an environment variable, and returns milliseconds:
 * `renewedLease: parseDuration(config.getOrThrow('LOCK_LEASE'))`. The text must have a unit: `'500ms'`, `'30s'`, `'5m'`,
 * `'1h'`, `'1d'`.
 * @throws LockConfigError for any other text, and for more than 366 days
 */
export const parseDuration = (text: string): number => readDuration('parseDuration(text)', text);
