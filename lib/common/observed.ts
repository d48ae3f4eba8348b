/** Reports an error of an observer as a process warning: it is no error of a lock. */
export function warnOfObserver(what: string, error: unknown): void {
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`${what} has thrown; locks are not affected: ${why}`, { type: 'LockObserverWarning' });
}
