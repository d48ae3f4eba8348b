import type { LockEvent } from '../../engine/lock-event.js';

/**
 * The names of the channels on `node:diagnostics_channel`. There is one channel for each type of event, whose messages are
 * `LockDiagnostics`. `acquire` is the name of a tracing channel (`tracingChannel(LOCK_CHANNELS.acquire)`), whose messages are
 * `LockAcquisition`. The messages are about all locks of the process, of every module instance.
 */
export const LOCK_CHANNELS = Object.freeze({
  contended: 'nestjs-redis-locks:contended',
  acquired: 'nestjs-redis-locks:acquired',
  timeout: 'nestjs-redis-locks:timeout',
  skipped: 'nestjs-redis-locks:skipped',
  renewed: 'nestjs-redis-locks:renewed',
  released: 'nestjs-redis-locks:released',
  unreleased: 'nestjs-redis-locks:unreleased',
  lost: 'nestjs-redis-locks:lost',
  acquire: 'nestjs-redis-locks:acquire',
} satisfies Record<LockEvent['type'] | 'acquire', string>);

/** A message on the channel of its type: the event, and the name of its module instance. */
export type LockDiagnostics<Event extends LockEvent = LockEvent> = Event & { readonly instance: string };
