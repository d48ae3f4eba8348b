import { Inject, Injectable } from '@nestjs/common';
import type { Duration } from '../../common/duration.js';
import type { LockHealth } from '../../service/lock-health.js';
import { Options, or, read } from '../../options/option-readers.js';
import { DEFAULT_INSTANCE, LOCK_REGISTRY } from '../../module/redis-lock.tokens.js';
import type { LockServices } from '../../service/lock.service.js';

/** The options of `LockHealthIndicator.check`. */
export interface LockHealthCheckOptions {
  /** `check` only: the name of the module instance; without it, the instance that has no name. */
  instance?: string | undefined;
  /**
   * How long Redis may take to answer, in milliseconds or `'1s'`.
   * @defaultValue the module's `commandTimeout`
   */
  timeout?: Duration | undefined;
  /**
   * `check` only: how late a renewal may be, in milliseconds or `'5s'`. The default is half of the time between the
   * moment a renewal is due and the end of the lease.
   * @defaultValue a third of the module's `renewedLease`
   */
  maxWatchdogLag?: Duration | undefined;
}

const OPTIONS = new Options({
  instance: or(read.instance, DEFAULT_INSTANCE),
  timeout: read.duration,
  maxWatchdogLag: read.duration,
});

/** The result of a check, in the format of Terminus. Times are in ms. */
export interface LockHealthReport {
  readonly status: 'up' | 'down';
  /** The `label` of the client, by which `inspect` and the dashboard name this process. */
  readonly label: string;
  readonly connection: 'up' | 'down';
  readonly subscription: 'up' | 'down';
  readonly watchdog: 'up' | 'down';
  readonly watchdogLag: number;
  readonly roundTrip?: number;
  readonly held: number;
  /** The faults, if the status is `down`. */
  readonly message?: string;
}

/**
 * A health indicator for `@nestjs/terminus` (11 and 12). Make it a provider, and
 *
 * ```ts
 * health.check([() => locks.check('locks', { timeout: '1s' })])
 * ```
 *
 * It is down if Redis does not answer, if the subscription does not work, or if renewals are late.
 */
@Injectable()
export class LockHealthIndicator {
  /** @hidden Nest calls it. */
  constructor(@Inject(LOCK_REGISTRY) private readonly services: LockServices) {}

  /** @throws LockConfigError for an option that cannot be used, or an unknown instance */
  async check<const Key extends string = 'locks'>(
    key: Key = 'locks' as Key,
    options: LockHealthCheckOptions = {},
  ): Promise<Record<Key, LockHealthReport>> {
    const { instance, timeout, maxWatchdogLag } = OPTIONS.read('check', options);
    const service = this.services.service(instance);
    const health = await service.health({ timeout });
    return { [key]: reportOf(health, maxWatchdogLag ?? service.defaults.renewedLease / 3) } as Record<
      Key,
      LockHealthReport
    >;
  }
}

function reportOf(health: LockHealth, maxWatchdogLag: number): LockHealthReport {
  const { label, reachable, error, roundTrip, subscribed, watchdogLag, held } = health;
  const inTime = watchdogLag <= maxWatchdogLag;
  const faults = [
    reachable ? [] : [error ?? 'Redis does not answer'],
    subscribed ? [] : ['the subscription does not work, so no call can wait for a lock'],
    inTime ? [] : [`renewals are ${Math.round(watchdogLag)} ms late, so locks may be lost`],
  ].flat();
  return {
    status: upIf(faults.length === 0),
    label,
    connection: upIf(reachable),
    subscription: upIf(subscribed),
    watchdog: upIf(inTime),
    watchdogLag: Math.round(watchdogLag),
    ...(roundTrip === undefined ? {} : { roundTrip: Math.round(roundTrip * 10) / 10 }),
    held,
    ...(faults.length === 0 ? {} : { message: faults.join('; ') }),
  };
}

const upIf = (well: boolean): 'up' | 'down' => (well ? 'up' : 'down');
