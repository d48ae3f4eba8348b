import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { TimerQueue } from '../common/timer-queue.js';
import type { LockStore } from '../store/lock-store.js';
import { EventPublisher, type EventSink } from './event-publisher.js';

/** How long a client may hand a lock from one of its own waiters to the next before other clients get it. */
export interface BatchLimits {
  /** How many waiters get the lock under one grant; 1: each waiter asks the store. */
  readonly size: number;
  /** ms */
  readonly time: number;
}

/** The limits of one module instance. */
export interface EngineLimits {
  /** ms that the store has for the answer to a command. */
  readonly commandTimeout: number;
  /** First lease of a grant that the store pushes, in ms. */
  readonly grantTimeout: number;
  readonly batch: BatchLimits;
}

/** What all parts of one engine, and the lock objects on top of it, share. */
export interface EngineContext {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly random: () => number;
  readonly logger: LockLogger;
  readonly events: EventPublisher;
  readonly limits: EngineLimits;
  /** Makes an id that no other acquisition has. */
  readonly nextId: () => string;
}

/** What a context is made of. */
export interface EngineContextOptions extends Pick<EngineContext, 'store' | 'clock' | 'random' | 'logger' | 'limits'> {
  /** Where the events of the locks go. */
  readonly sink: EventSink;
}

/** Makes the context of a new engine. */
export function createEngineContext({ sink, ...given }: EngineContextOptions): EngineContext {
  const { store, clock, logger } = given;
  let lastId = 0;
  return {
    ...given,
    timers: new TimerQueue(clock),
    events: new EventPublisher(sink, clock, logger),
    nextId: () => `${store.clientId}:${(lastId += 1)}`,
  };
}
