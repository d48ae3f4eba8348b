import type { LockLogger } from '../../common/logger.js';

let warned = false;

/** Warns once per process, and not in tests, that locks in memory work in this process only. */
export function warnOfMemoryOnly(logger: LockLogger): void {
  const { NODE_ENV, JEST_WORKER_ID, VITEST } = process.env;
  if (warned || NODE_ENV === 'test' || JEST_WORKER_ID !== undefined || VITEST !== undefined) return;
  warned = true;
  logger.warn(
    "store: 'memory': locks exclude only callers in this process. If several processes run, leave the option out to use Redis",
  );
}
