/** Has a failure of what observes the library told by Node, as a warning of the process: it is no failure of a lock. */
export function warnOfObserver(what: string, error: unknown): void {
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`${what} has thrown, and locks go on without it: ${why}`, { type: 'LockObserverWarning' });
}
