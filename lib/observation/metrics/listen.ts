import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { warnOfObserver } from '../../common/observed.js';
import { LOCK_CHANNELS, type LockAcquisition, type LockDiagnostics } from '../diagnostics/index.js';
import type { LockEvent } from '../../engine/lock-event.js';

/** Listeners of events, by their type, and of calls that acquire locks: when they begin, and when they have a result. */
export type LockListeners = {
  readonly [Type in LockEvent['type']]?: (event: LockDiagnostics<Extract<LockEvent, { type: Type }>>) => void;
} & {
  readonly [What in 'asked' | 'answered']?: (acquisition: LockAcquisition) => void;
};

const CHANNELS: Readonly<Record<keyof LockListeners, string>> = {
  ...LOCK_CHANNELS,
  asked: `tracing:${LOCK_CHANNELS.acquire}:start`,
  answered: `tracing:${LOCK_CHANNELS.acquire}:asyncEnd`,
};

/** Listens to all locks of this process, until the returned function is called. */
export function listenToLocks(listeners: LockListeners): () => void {
  const stops = Object.entries(listeners).map(([what, listener]) =>
    // The channel of a listener has the messages that it takes.
    listen(CHANNELS[what as keyof LockListeners], listener as (message: unknown) => void),
  );
  return () => stops.forEach((stop) => stop());
}

/** An error in a channel's subscriber is an uncaught exception, which would end the process and all its locks. */
function listen(name: string, listener: (message: unknown) => void): () => void {
  let warned = false;
  const hear = (message: unknown): void => {
    try {
      listener(message);
    } catch (error) {
      if (!warned) warnOfObserver('what measures or logs locks', error);
      warned = true;
    }
  };
  subscribe(name, hear);
  return () => void unsubscribe(name, hear);
}
