import { Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { quote } from '../common/describe.js';
import { singleLine } from '../common/logger.js';
import type { LockHolder } from '../errors/index.js';
import type { LockServices } from '../service/lock.service.js';
import { ownerName } from '../service/party-names.js';
import type { ResolvedDashboardSettings } from './dashboard.options.js';
import { lockOf, type ReadLock } from './lock-view.js';
import { Observatory } from './observatory.js';
import type { StateStream } from './state-stream.js';

/** The name of a user is text of the request. */
const logger = singleLine(new Logger('RedisLockDashboard'));

/** The result of a release. `changed`: the key has other holders than the request named. */
export type ReleaseOutcome =
  { readonly outcome: 'released' | 'free' | 'read-only' } | { readonly outcome: 'changed'; readonly lock: ReadLock };

/** A request to release a key, with the hold that the viewer saw. */
export interface ReleaseOrder {
  readonly key: string;
  /** That of the hold, or the largest of all holds. */
  readonly fencingToken: number;
  /** The id of the hold, if only one of several is to be released. */
  readonly hold?: string | undefined;
  /** The user of the page, if the request names one. */
  readonly user?: string | undefined;
}

/** The services of the page's controller: the instances, and forced releases. */
export class LockDashboard implements OnModuleInit, BeforeApplicationShutdown {
  private observatories = new Map<string, Observatory>();
  /** The open event streams. */
  readonly streams = new Set<StateStream>();
  /** Whether the application is shutting down. */
  isClosing = false;

  constructor(
    private readonly services: LockServices,
    private readonly settings: ResolvedDashboardSettings,
  ) {}

  /** @throws LockConfigError for an unknown instance */
  onModuleInit(): void {
    const { readOnly, refresh, limit, instance: named } = this.settings;
    const instances = named ?? this.services.names();
    for (const instance of instances) {
      const service = this.services.service(instance);
      this.observatories.set(instance, new Observatory(service, { instance, instances, readOnly, refresh, limit }));
    }
  }

  /** The server waits for open connections, and event streams never end by themselves. */
  beforeApplicationShutdown(): void {
    this.isClosing = true;
    for (const stream of this.streams) stream.close();
    for (const observatory of this.observatories.values()) observatory.stop();
  }

  /** The instance of this name, or the first one; `undefined`: there is no such instance. */
  observatory(instance: string | undefined): Observatory | undefined {
    return instance === undefined ? this.observatories.values().next().value : this.observatories.get(instance);
  }

  /**
   * Releases a key if it still has the holder that the viewer saw.
   * @throws LockStoreError, LockKeyError
   */
  async release(
    observatory: Observatory,
    { key, fencingToken, hold, user = 'a user' }: ReleaseOrder,
  ): Promise<ReleaseOutcome> {
    if (this.settings.readOnly) return { outcome: 'read-only' };
    const { service } = observatory;
    const info = await service.inspect(key);
    const all = info?.holders ?? [];
    if (info === null || all.length === 0) return { outcome: 'free' };
    const holders = hold === undefined ? all : all.filter(({ id }) => id === hold);
    const token = hold === undefined ? info.fencingToken : holders[0]?.fencingToken;
    if (token !== fencingToken) return { outcome: 'changed', lock: lockOf(info, observatory.storeTime) };
    // By their ids: a caller that holds the key by now keeps it.
    const by = `${user} of the dashboard of ${service.label}`;
    const ids = holders.map(({ id }) => id);
    const released = holders.length > 0 && (await service.forceRelease(key, { hold: ids, by }));
    if (released) {
      const next = (await service.inspect(key))?.holders.filter(({ id }) => !ids.includes(id)) ?? [];
      const then = next.length === 0 ? 'no waiter has got it yet' : `the next holder is ${namesOf(next)}`;
      logger.warn(`${quote(key)} was released by force by ${by}; it was held by ${namesOf(holders)}; ${then}`);
    }
    await observatory.changed();
    return { outcome: released ? 'released' : 'free' };
  }
}

/** The clients of holds, and the owners that their callers named. */
const namesOf = (holders: readonly LockHolder[]): string =>
  holders
    .map((holder) => {
      const owner = ownerName(holder);
      return `${holder.label ?? holder.client}${owner === undefined ? '' : ` (owner ${quote(owner)})`}`;
    })
    .join(', ');
