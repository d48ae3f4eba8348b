import { channel, type Channel } from 'node:diagnostics_channel';
import type { EventSink } from '../../engine/event-publisher.js';
import type { LockEvent } from '../../engine/lock-event.js';
import { LOCK_CHANNELS, type LockDiagnostics } from './channels.js';

const { acquire: _acquire, ...names } = LOCK_CHANNELS;
const CHANNELS = Object.fromEntries(Object.entries(names).map(([type, name]) => [type, channel(name)])) as Record<
  LockEvent['type'],
  Channel
>;
const ALL = Object.values(CHANNELS);

/** Forwards the events of one instance to its own observers and to the subscribers of the channels. */
export class EventChannels implements EventSink {
  constructor(
    private readonly instance: string,
    private readonly observers: EventSink,
  ) {}

  /** Whether there is an observer. Without one, no event is built. */
  get observed(): boolean {
    return this.observers.observed || ALL.some(hasSubscribers);
  }

  next(event: LockEvent): void {
    if (this.observers.observed) this.observers.next(event);
    const told = CHANNELS[event.type];
    if (told.hasSubscribers) told.publish({ instance: this.instance, ...event } satisfies LockDiagnostics);
  }
}

const hasSubscribers = (each: Channel): boolean => each.hasSubscribers;
