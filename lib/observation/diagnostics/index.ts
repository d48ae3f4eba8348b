export { LOCK_CHANNELS, type LockDiagnostics } from './channels.js';
export { traceAcquisition, type AcquiredLock, type LockAcquisition } from './acquisition.js';
export { answerReadings, collectReadings, type InstanceReading } from './readings.js';
export { EventChannels } from './event-channels.js';
