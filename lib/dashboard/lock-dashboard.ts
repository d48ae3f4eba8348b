import { Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { quote } from '../common/describe.js';
import type { LockServices } from '../decorators/injected-service.js';
import type { ResolvedDashboardSettings } from './dashboard.options.js';
import type { DashboardLock } from './dashboard-state.js';
import { lockOf } from './lock-census.js';
import { Observatory } from './observatory.js';

const logger = new Logger('RedisLockDashboard');

/** What came of a release. `changed`: others hold the key by now than those that were to lose it. */
export type ReleaseOutcome =
  | { readonly outcome: 'released' | 'free' | 'read-only' }
  | { readonly outcome: 'changed'; readonly lock: DashboardLock };

/** What is to be released: the key, as it was seen to be held. */
export interface ReleaseOrder {
  readonly key: string;
  readonly fencingToken: number;
}

/** All that the page's controller asks for: the instances, looked at, and releases by force. */
export class LockDashboard implements OnModuleInit, BeforeApplicationShutdown {
  private observatories = new Map<string, Observatory>();
  private readonly endings = new Set<() => void>();
  /** Whether the application is about to end. */
  isClosing = false;

  constructor(
    private readonly services: LockServices,
    private readonly settings: ResolvedDashboardSettings,
  ) {}

  /** @throws LockConfigError for an instance that there is not */
  onModuleInit(): void {
    const { readOnly, refresh, limit } = this.settings;
    const instances = this.settings.instances ?? this.services.names();
    for (const instance of instances) {
      const service = this.services.service(instance);
      this.observatories.set(instance, new Observatory(service, { instance, instances, readOnly, refresh, limit }));
    }
  }

  /** The server waits for those who are connected, and these never leave by themselves. */
  beforeApplicationShutdown(): void {
    this.isClosing = true;
    for (const end of this.endings) end();
    for (const observatory of this.observatories.values()) observatory.stop();
  }

  /** Has something ended at shutdown, unless what it answers is called before. */
  endLater(end: () => void): () => void {
    this.endings.add(end);
    return () => this.endings.delete(end);
  }

  get streams(): number {
    return this.endings.size;
  }

  /** One that is shown; without a name the first. `undefined`: there is none of this name. */
  observatory(instance: string | undefined): Observatory | undefined {
    return instance === undefined ? this.observatories.values().next().value : this.observatories.get(instance);
  }

  /**
   * Frees a key, if those who hold it are still those that were seen.
   * @throws LockStoreError, LockKeyError
   */
  async release(observatory: Observatory, { key, fencingToken }: ReleaseOrder): Promise<ReleaseOutcome> {
    if (this.settings.readOnly) return { outcome: 'read-only' };
    const { service } = observatory;
    const info = await service.inspect(key);
    const holders = info?.holders ?? [];
    if (info === null || holders.length === 0) return { outcome: 'free' };
    if (info.fencingToken !== fencingToken) return { outcome: 'changed', lock: lockOf(info, Date.now()) };
    const released = await service.forceRelease(key);
    const owners = holders.map(({ owner }) => quote(owner)).join(', ');
    if (released) logger.warn(`${quote(key)} was released by force from the dashboard; it was held by ${owners}`);
    await observatory.changed();
    return { outcome: released ? 'released' : 'free' };
  }
}
