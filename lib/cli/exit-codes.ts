/** The exit codes of the process, documented in docs/cli.md. */
export const EXIT = Object.freeze({
  /** Success. `inspect`: the lock is held or has waiters. `doctor`: nothing has to be changed. */
  ok: 0,
  /** Redis could not be reached, or failed. */
  failed: 1,
  /** The command line cannot be used. */
  usage: 2,
  /** The answer is no: `inspect` of a free key, a refused `release`, or problems that `doctor` found. */
  no: 3,
} as const);

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
