import type { Observable, Subscription } from 'rxjs';
import type { LockEvent } from '../engine/lock-event.js';
import type { DashboardActivity, DashboardIncident } from './dashboard-state.js';
import { bucketOf, BUCKETS, durationHistogram } from './duration-histogram.js';
import { callOf, HoldHistory } from './hold-history.js';
import { SlidingCounts } from './sliding-counts.js';

/** The length of the recorded history, in ms. */
const WINDOW = 300_000;
const SLOT = 5_000;
/** How many incidents are kept: the last one of each key and type. */
const INCIDENTS = 50;

type Incident = Extract<LockEvent, { type: DashboardIncident['type'] }>;

/** The recent activity of one instance of this process, in a fixed amount of memory. */
export class Activity {
  private readonly acquired = new SlidingCounts(SLOT, WINDOW / SLOT);
  private readonly timeouts = new SlidingCounts(SLOT, WINDOW / SLOT);
  private readonly lost = new SlidingCounts(SLOT, WINDOW / SLOT);
  private readonly wait = { free: durationHistogram(WINDOW), contended: durationHistogram(WINDOW) };
  private readonly hold = { released: durationHistogram(WINDOW), lost: durationHistogram(WINDOW) };
  private readonly history = new HoldHistory();
  /** By type and key, in the order of the last incident. */
  private readonly incidents = new Map<string, DashboardIncident>();
  private readonly since = Date.now();
  private readonly subscription: Subscription;

  /** Listens to events until `stop` is called. */
  constructor(
    events: Observable<LockEvent>,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.subscription = events.subscribe((event) => this.take(event));
  }

  stop(): void {
    this.subscription.unsubscribe();
  }

  /** `words`: what the shown holds have in common. */
  read(words: readonly string[]): DashboardActivity {
    const now = this.now();
    const { wait, hold } = this;
    return {
      ...{ window: WINDOW, since: this.since, slot: SLOT },
      acquired: this.acquired.history(now),
      timeouts: this.timeouts.history(now),
      lost: this.lost.history(now),
      buckets: BUCKETS,
      wait: { free: wait.free.sums(now), contended: wait.contended.sums(now) },
      hold: { released: hold.released.sums(now), lost: hold.lost.sums(now) },
      holds: this.history.read(words),
      incidents: [...this.incidents.values()].reverse(),
    };
  }

  private take(event: LockEvent): void {
    const now = this.now();
    switch (event.type) {
      case 'acquired':
        this.history.began(event, Date.now());
        this.acquired.add(now);
        return this.wait[event.contended ? 'contended' : 'free'].add(now, bucketOf(event.waited));
      case 'released':
      case 'unreleased':
      case 'lost':
        this.history.ended(event, Date.now());
        this.hold[event.type === 'lost' ? 'lost' : 'released'].add(now, bucketOf(event.held));
        if (event.type === 'lost') this.lost.add(now);
        return event.type === 'released' ? undefined : this.remember(event, event.held);
      case 'timeout':
        this.timeouts.add(now);
        return this.remember(event, event.waited);
      case 'skipped':
      case 'contended':
      case 'renewed':
    }
  }

  private remember(event: Incident, took: number): void {
    const { type, key } = event;
    const id = `${type} ${key}`;
    const times = (this.incidents.get(id)?.times ?? 0) + 1;
    this.incidents.delete(id);
    // Each type of event has some of these.
    const { reason, lossReason, nextHolder, holder = nextHolder }: IncidentFacts = event;
    this.incidents.set(id, { type, at: Date.now(), ...callOf(event), took, reason, lossReason, holder, times });
    if (this.incidents.size > INCIDENTS) this.incidents.delete(this.incidents.keys().next().value!);
  }
}

type IncidentFacts = { readonly [Fact in 'reason' | 'lossReason' | 'holder' | 'nextHolder']?: string | undefined };
