// In reading order: the channels, the messages of events, the messages of acquisitions.
export { LOCK_CHANNELS, type LockDiagnostics } from './channels.js';
export type {
  LockAcquiredEvent,
  LockContendedEvent,
  LockLostEvent,
  LockReleasedEvent,
  LockRenewedEvent,
  LockSkippedEvent,
  LockTimeoutEvent,
  LockUnreleasedEvent,
} from '../../engine/lock-event.js';
export type { AcquiredLock, LockAcquisition } from './acquisition.js';
