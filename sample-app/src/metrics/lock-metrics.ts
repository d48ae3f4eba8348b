import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { LockService, type LockEvent } from 'nestjs-redis-locks';
import type { Subscription } from 'rxjs';

/** How many waiting times are remembered. */
const SAMPLES = 10_000;

/** What has become of the locks of this process since it started. */
export interface LockMetricsReport {
  /** How often each kind of event has happened. */
  readonly events: Partial<Record<LockEvent['type'], number>>;
  /** How long the last acquisitions waited, in ms. */
  readonly waited: readonly number[];
}

/** Counts what `LockService.events` tells. A real shop would feed its Prometheus here. */
@Injectable()
export class LockMetrics implements OnModuleInit, OnModuleDestroy {
  private readonly events: Partial<Record<LockEvent['type'], number>> = {};
  private readonly waited: number[] = [];
  private subscription: Subscription | undefined;

  constructor(private readonly locks: LockService) {}

  onModuleInit(): void {
    this.subscription = this.locks.events.subscribe((event) => this.count(event));
  }

  onModuleDestroy(): void {
    this.subscription?.unsubscribe();
  }

  report(): LockMetricsReport {
    return { events: this.events, waited: this.waited };
  }

  private count(event: LockEvent): void {
    this.events[event.type] = (this.events[event.type] ?? 0) + 1;
    if (event.type !== 'acquired') return;
    this.waited.push(event.waited);
    if (this.waited.length > SAMPLES) this.waited.shift();
  }
}
