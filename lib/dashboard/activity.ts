import type { Observable, Subscription } from 'rxjs';
import type { LockEvent } from '../engine/lock-event.js';
import type { DashboardActivity, DashboardIncident } from './dashboard-state.js';
import { BUCKETS, DurationHistogram } from './duration-histogram.js';
import { callOf, HoldHistory } from './hold-history.js';
import { SlidingCounts } from './sliding-counts.js';

/** The length of the recorded history, in ms. */
const WINDOW = 300_000;
const SLOT = 5_000;
/** How many incidents are kept: the last one of each key and type. */
const INCIDENTS = 50;

const ACQUIRED = 0;
const TIMEOUTS = 1;
const LOST = 2;
/** The series of the two histograms. */
const FREE = 0;
const CONTENDED = 1;
const RELEASED = 0;
const LOST_HOLD = 1;

type Incident = Extract<LockEvent, { type: DashboardIncident['type'] }>;

/** The recent activity of one instance of this process, in a fixed amount of memory. */
export class Activity {
  private readonly rates = new SlidingCounts(3, SLOT, WINDOW / SLOT);
  private readonly waits = new DurationHistogram(2, WINDOW);
  private readonly holds = new DurationHistogram(2, WINDOW);
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
    return {
      ...{ window: WINDOW, since: this.since, slot: SLOT },
      acquired: this.rates.history(ACQUIRED, now),
      timeouts: this.rates.history(TIMEOUTS, now),
      lost: this.rates.history(LOST, now),
      buckets: BUCKETS,
      wait: { free: this.waits.read(FREE, now), contended: this.waits.read(CONTENDED, now) },
      hold: { released: this.holds.read(RELEASED, now), lost: this.holds.read(LOST_HOLD, now) },
      holds: this.history.read(words),
      incidents: [...this.incidents.values()].reverse(),
    };
  }

  private take(event: LockEvent): void {
    const now = this.now();
    switch (event.type) {
      case 'acquired':
        this.history.began(event, Date.now());
        this.rates.add(ACQUIRED, now);
        return this.waits.add(event.contended ? CONTENDED : FREE, event.waited, now);
      case 'released':
        this.history.ended(event, Date.now());
        return this.holds.add(RELEASED, event.held, now);
      case 'unreleased':
        this.history.ended(event, Date.now());
        this.holds.add(RELEASED, event.held, now);
        return this.remember(event, { took: event.held, reason: event.reason });
      case 'lost': {
        const { held, reason, lossReason, nextHolder: holder } = event;
        this.history.ended(event, Date.now());
        this.rates.add(LOST, now);
        this.holds.add(LOST_HOLD, held, now);
        return this.remember(event, { took: held, reason, lossReason, holder });
      }
      case 'timeout':
        this.rates.add(TIMEOUTS, now);
        return this.remember(event, { took: event.waited, holder: event.holder });
      case 'skipped':
      case 'contended':
      case 'renewed':
    }
  }

  private remember(
    event: Incident,
    { took, ...facts }: Pick<DashboardIncident, 'took'> & Partial<DashboardIncident>,
  ): void {
    const { type, key } = event;
    const id = `${type} ${key}`;
    const times = (this.incidents.get(id)?.times ?? 0) + 1;
    this.incidents.delete(id);
    const none = { reason: undefined, lossReason: undefined, holder: undefined };
    this.incidents.set(id, { type, at: Date.now(), ...callOf(event), took, ...none, ...facts, times });
    if (this.incidents.size > INCIDENTS) this.incidents.delete(this.incidents.keys().next().value!);
  }
}
