import { hostname } from 'node:os';
import { outside } from '../common/outside.js';
import type { LockService } from '../service/lock.service.js';
import { Activity } from './activity.js';
import type { DashboardState } from './dashboard-state.js';
import { LockCensus } from './lock-census.js';

/** What all states of an instance have in common. */
export type ObservatoryOptions = Pick<DashboardState, 'instance' | 'instances' | 'readOnly' | 'refresh'> & {
  readonly limit: number;
};

/** Is told each new state, as JSON. */
export type Viewer = (state: string) => void;

/**
 * Looks at one instance, on behalf of all who want to see it: the store is asked once for all of them, every `refresh` ms at most,
 * and not at all while nobody looks.
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

  /** What there is to see, as JSON; not older than `refresh`. Never rejects. */
  look(): Promise<string> {
    if (this.looking !== undefined) return this.looking;
    const { last } = this;
    if (last !== undefined && performance.now() - last.at < this.options.refresh) return Promise.resolve(last.state);
    return this.lookAgain();
  }

  /** Tells each new state, until what it answers is called. */
  watch(viewer: Viewer): () => void {
    this.viewers.add(viewer);
    void this.look().then((state) => this.viewers.has(viewer) && viewer(state));
    this.lookLater();
    return () => {
      this.viewers.delete(viewer);
      if (this.viewers.size === 0) this.rest();
    };
  }

  /** What is changed is to be seen at once. */
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
    // Not on behalf of the request that happened to be the first.
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
