import { hostname } from 'node:os';
import { outside } from '../common/outside.js';
import type { LockService } from '../service/lock.service.js';
import { Activity } from './activity.js';
import type { DashboardState } from './dashboard-state.js';
import { LockCensus } from './lock-census.js';

/** The part of the state that does not change. */
export type ObservatoryOptions = Pick<DashboardState, 'instance' | 'instances' | 'readOnly' | 'refresh'> & {
  readonly limit: number;
};

/** Receives each new state, as JSON. */
export type Viewer = (state: string) => void;

/**
 * Watches one instance for all its viewers. The store is queried once for all of them, at most every `refresh` ms, and
 * not at all without a viewer.
 */
export class Observatory {
  readonly activity: Activity;
  private readonly census: LockCensus;
  private readonly viewers = new Set<Viewer>();
  private looking: Promise<string> | undefined;
  private last: { readonly state: string; readonly at: number } | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly service: LockService,
    private readonly options: ObservatoryOptions,
  ) {
    this.census = new LockCensus(service, options.limit);
    this.activity = new Activity(service.events);
  }

  /** The current state as JSON, not older than `refresh`. Never rejects. */
  look(): Promise<string> {
    if (this.looking !== undefined) return this.looking;
    const { last } = this;
    if (last !== undefined && performance.now() - last.at < this.options.refresh) return Promise.resolve(last.state);
    return this.lookAgain();
  }

  /** Sends each new state to the viewer, until the returned function is called. */
  watch(viewer: Viewer): () => void {
    this.viewers.add(viewer);
    void this.look().then((state) => this.viewers.has(viewer) && viewer(state));
    this.lookLater();
    return () => {
      this.viewers.delete(viewer);
      if (this.viewers.size === 0) this.rest();
    };
  }

  /** Shows a change at once. */
  async changed(): Promise<void> {
    await this.looking;
    this.tell(await this.lookAgain());
  }

  stop(): void {
    this.viewers.clear();
    this.rest();
    this.activity.stop();
  }

  private lookAgain(): Promise<string> {
    this.looking ??= this.state().then((state) => {
      this.looking = undefined;
      this.last = { state, at: performance.now() };
      return state;
    });
    return this.looking;
  }

  private lookLater(): void {
    // Outside of the async context of the request that started it.
    this.timer ??= outside(() => setTimeout(() => void this.lookAndTell(), this.options.refresh).unref());
  }

  private async lookAndTell(): Promise<void> {
    this.timer = undefined;
    const state = await this.lookAgain();
    if (this.viewers.size === 0) return;
    this.tell(state);
    this.lookLater();
  }

  private rest(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private tell(state: string): void {
    for (const viewer of this.viewers) viewer(state);
  }

  private async state(): Promise<string> {
    const { limit: _, ...common } = this.options;
    const locks = await this.census.look();
    const state: DashboardState = {
      ...common,
      at: Date.now(),
      process: { host: hostname(), pid: process.pid, client: this.service.clientId },
      locks,
      activity: this.activity.read(),
    };
    return JSON.stringify(state);
  }
}
