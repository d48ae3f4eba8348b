import { lacksCommand } from '../../store/redis/store-failure.js';

/** Rejects after `ms`, to limit the time for an answer. */
export async function after(ms: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref());
  throw new Error(`no answer within ${ms} ms`);
}

/** Whether a server does not know a command, or not inside scripts. */
export const isUnknown = (error: unknown): boolean => error instanceof Error && lacksCommand(error);

/** Whether a server denies its user a command, or does not know it. */
export const isRefusal = (error: unknown): error is Error =>
  error instanceof Error && (isUnknown(error) || LACKS_RIGHT.test(error.message));

/** The codes of a missing right, and what Redis 7.0 and Valkey say without a code inside scripts. */
const LACKS_RIGHT = /\bNOPERM\b|user executing the script can't|ACL failure in script/;
