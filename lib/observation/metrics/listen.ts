import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { warnOfObserver } from '../../common/observed.js';
import { LOCK_CHANNELS, type LockAcquisition, type LockDiagnostics } from '../diagnostics/index.js';
import type { LockEvent } from '../../engine/lock-event.js';

/** Listeners of events, by the type of the event. */
export type EventListeners = {
  readonly [Type in LockEvent['type']]?: (event: LockDiagnostics<Extract<LockEvent, { type: Type }>>) => void;
};

/** Listeners of calls that acquire locks: when they begin, and when they have their result. */
export interface AcquisitionListeners {
  readonly asked: (acquisition: LockAcquisition) => void;
  readonly answered: (acquisition: LockAcquisition) => void;
}

/** Listens to all locks of this process, until the returned function is called. */
export function listenToEvents(listeners: EventListeners): () => void {
  const stops = Object.entries(listeners).map(([type, listener]) =>
    // The type of an event selects its listener.
    listen(LOCK_CHANNELS[type as LockEvent['type']], listener as (event: unknown) => void),
  );
  return () => stops.forEach((stop) => stop());
}

/** Listens to all calls of this process that acquire locks, until the returned function is called. */
export function listenToAcquisitions({ asked, answered }: AcquisitionListeners): () => void {
  const stops = [
    listen(`tracing:${LOCK_CHANNELS.acquire}:start`, (acquisition) => asked(acquisition as LockAcquisition)),
    listen(`tracing:${LOCK_CHANNELS.acquire}:asyncEnd`, (acquisition) => answered(acquisition as LockAcquisition)),
  ];
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
