/** What the process ends with; documented in docs/cli.md. */
export const EXIT = Object.freeze({
  /** Done; `inspect`: there is something; `doctor`: nothing has to be changed. */
  ok: 0,
  /** Redis could not be reached, or failed. */
  failed: 1,
  /** The command line cannot be used. */
  usage: 2,
  /** The answer is no: `inspect` of a free key, a `release` that was refused, a `doctor` who found something. */
  no: 3,
} as const);

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
