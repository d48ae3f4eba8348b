import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { TimerQueue } from '../common/timer-queue.js';
import type { LockStore } from '../store/lock-store.js';
import { ClientIdentity } from './client-identity.js';
import { ClientNames } from './client-names.js';
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
  /** ms that the store has for the reply to a command. */
  readonly commandTimeout: number;
  /** First lease of a grant that the store pushes, in ms. */
  readonly grantTimeout: number;
  readonly batch: BatchLimits;
  /** How many tickets at the front of a line ask often (`TicketLine`). Simulations have short lines, and set it. */
  readonly front?: number;
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
  /** The ids of this client and of its acquisitions. */
  readonly identity: ClientIdentity;
  /** The labels and call sites of all clients. */
  readonly names: ClientNames;
}

/** What a context is made of. */
export interface EngineContextOptions extends Pick<EngineContext, 'store' | 'clock' | 'random' | 'logger' | 'limits'> {
  /** Where the events of the locks go. */
  readonly sink: EventSink;
  /** How people recognize this client; its id if left out. */
  readonly label?: string;
}

/** Makes the context of a new engine. */
export function createEngineContext({ sink, label, ...given }: EngineContextOptions): EngineContext {
  const { store, clock, logger } = given;
  const timers = new TimerQueue(clock);
  const identity = new ClientIdentity(store, clock, timers, logger, label ?? store.clientId);
  const names = new ClientNames({ identity, records: store.clients, clock, timers });
  return {
    ...given,
    timers,
    events: new EventPublisher(sink, clock, logger, identity.label, names),
    identity,
    names,
  };
}
