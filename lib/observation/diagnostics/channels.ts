import type { LockEvent } from '../../engine/lock-event.js';

/**
 * The names of what this library tells on `node:diagnostics_channel`. One channel for each type of event, whose messages
 * are `LockDiagnostics`; and `acquire`, the name of a tracing channel (`tracingChannel(LOCK_CHANNELS.acquire)`), whose
 * messages are `LockAcquisition`. They speak of all locks of the process, whichever module they are of.
 */
export const LOCK_CHANNELS = Object.freeze({
  contended: 'nestjs-redis-locks:contended',
  acquired: 'nestjs-redis-locks:acquired',
  timeout: 'nestjs-redis-locks:timeout',
  renewed: 'nestjs-redis-locks:renewed',
  released: 'nestjs-redis-locks:released',
  unreleased: 'nestjs-redis-locks:unreleased',
  lost: 'nestjs-redis-locks:lost',
  acquire: 'nestjs-redis-locks:acquire',
} satisfies Record<LockEvent['type'] | 'acquire', string>);

/** A message on the channel of its type: the event, and the name of the module instance that it is of. */
export type LockDiagnostics<Event extends LockEvent = LockEvent> = Event & { readonly instance: string };
