import { hostname } from 'node:os';
import { outside } from '../common/async-context.js';
import type { LockService } from '../service/lock.service.js';
import { Activity } from './activity.js';
import type { DashboardState } from './dashboard-state.js';
import { LockCensus } from './lock-census.js';
import type { LockQuery } from './lock-query.js';

/** The part of the state that does not change. */
export type ObservatoryOptions = Pick<DashboardState, 'instance' | 'instances' | 'readOnly' | 'refresh'> & {
  readonly limit: number;
};

/** For how many queries the state is kept until the next refresh. */
const MOST_STATES = 50;

/** A viewer: what it wants to see, and the function that receives each new state, as JSON. */
export interface Viewer {
  readonly query: LockQuery;
  readonly receive: (state: string) => void;
}

/**
 * Watches one instance for all its viewers. The store is queried once for all of them, at most every `refresh` ms, and
 * not at all without a viewer.
 */
export class Observatory {
  readonly activity: Activity;
  private readonly census: LockCensus;
  private readonly viewers = new Set<Viewer>();
  private refreshing: Promise<void> | undefined;
  /** When the last refresh began, and when it ended. */
  private began = -Infinity;
  private ended = -Infinity;
  /** What was made since the last refresh, by query. */
  private readonly states = new Map<string, Promise<string>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly service: LockService,
    private readonly options: ObservatoryOptions,
  ) {
    this.census = new LockCensus(service, options.limit);
    this.activity = new Activity(service.events);
  }

  /** The time of the store, by its last answer. */
  get storeTime(): number {
    return this.census.storeTime;
  }

  /** The current state as JSON, not older than `refresh`. Never rejects. */
  async look(query: LockQuery): Promise<string> {
    if (this.refreshing !== undefined || performance.now() - this.ended >= this.options.refresh) await this.refresh();
    return this.stateFor(query);
  }

  /** Sends each new state to the viewer, until the returned function is called. */
  watch(viewer: Viewer): () => void {
    this.viewers.add(viewer);
    void this.look(viewer.query).then((state) => this.viewers.has(viewer) && viewer.receive(state));
    this.lookLater();
    return () => {
      this.viewers.delete(viewer);
      if (this.viewers.size === 0) this.rest();
    };
  }

  /** Shows a change at once. */
  async changed(): Promise<void> {
    await this.refreshing;
    await this.refresh();
    await this.tell();
  }

  stop(): void {
    this.viewers.clear();
    this.rest();
    this.activity.stop();
  }

  private refresh(): Promise<void> {
    if (this.refreshing !== undefined) return this.refreshing;
    this.began = performance.now();
    this.refreshing = this.census.refresh().then(() => {
      this.refreshing = undefined;
      this.ended = performance.now();
      this.states.clear();
    });
    return this.refreshing;
  }

  private lookLater(): void {
    // Outside of the async context of the request that started it.
    this.timer ??= outside(() => setTimeout(() => void this.lookAndTell(), this.options.refresh).unref());
  }

  private async lookAndTell(): Promise<void> {
    this.timer = undefined;
    await this.refresh();
    await this.tell();
    if (this.viewers.size > 0) this.lookLater();
  }

  private rest(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private async tell(): Promise<void> {
    await Promise.all(
      [...this.viewers].map(async (viewer) => {
        const state = await this.stateFor(viewer.query);
        if (this.viewers.has(viewer)) viewer.receive(state);
      }),
    );
  }

  private stateFor(query: LockQuery): Promise<string> {
    const id = JSON.stringify(query);
    let state = this.states.get(id);
    if (this.states.size >= MOST_STATES) this.states.clear();
    if (state === undefined) this.states.set(id, (state = this.state(query)));
    return state;
  }

  private async state(query: LockQuery): Promise<string> {
    const { limit: _, ...common } = this.options;
    const locks = await this.census.view(query, this.began);
    const state: DashboardState = {
      ...common,
      at: Date.now(),
      process: { host: hostname(), pid: process.pid, client: this.service.clientId, label: this.service.label },
      locks,
      activity: this.activity.read(query.words),
    };
    return JSON.stringify(state);
  }
}
