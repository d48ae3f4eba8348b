import { messageOf } from './describe.js';

/** Reports an error of an observer as a process warning: it is no error of a lock. */
export function warnOfObserver(what: string, error: unknown): void {
  process.emitWarning(`${what} has thrown; locks are not affected: ${stackOf(error)}`, { type: 'LockObserverWarning' });
}

function stackOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error && typeof thrown.stack === 'string') return thrown.stack;
  } catch {
    // A getter of the error has thrown as well.
  }
  return messageOf(thrown);
}
