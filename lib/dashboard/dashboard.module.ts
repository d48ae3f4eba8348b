import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { DASHBOARD_SETTINGS, LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import type { LockServices } from '../service/lock.service.js';
import { controllerAt } from './dashboard.controller.js';
import {
  readAsyncOptions,
  readMadeSettings,
  readRootOptions,
  type RedisLockDashboardAsyncOptions,
  type RedisLockDashboardOptions,
  type ResolvedDashboardPlace,
  type ResolvedDashboardSettings,
} from './dashboard.options.js';
import { LockDashboard } from './lock-dashboard.js';

/**
 * Serves a page that shows the locks of all processes and the activity of this process. Unless it is `readOnly`, it can
 * release locks:
 *
 * ```ts
 * imports: [RedisLockModule.forRoot({ … }), RedisLockDashboardModule.forRoot({ guards: [AdminGuard] })]
 * ```
 *
 * Without this module nothing is collected. Redis is queried only while the page is open.
 */
@Module({})
export class RedisLockDashboardModule {
  /**
   * The page with settings that are known now. For settings that depend on other providers, see `forRootAsync`.
   * @throws LockConfigError for an option that cannot be used, and if no guards are named
   */
  static forRoot(options: RedisLockDashboardOptions): DynamicModule {
    const page = readRootOptions(options);
    return dashboard(page, { provide: DASHBOARD_SETTINGS, useValue: page });
  }

  /**
   * Like `forRoot`, with settings from other providers.
   * @throws LockConfigError if no guards are named. If the settings cannot be used, the application does not start.
   */
  static forRootAsync(options: RedisLockDashboardAsyncOptions): DynamicModule {
    const { inject = [], useFactory, ...place } = readAsyncOptions(options);
    return dashboard(place, {
      provide: DASHBOARD_SETTINGS,
      inject,
      useFactory: async (...args: unknown[]) => readMadeSettings(await useFactory(...args), place.guards),
    });
  }
}

const dashboard = (place: ResolvedDashboardPlace, settings: Provider): DynamicModule => ({
  module: RedisLockDashboardModule,
  imports: place.imports ?? [],
  controllers: [controllerAt(place)],
  providers: [
    settings,
    {
      provide: LockDashboard,
      inject: [LOCK_REGISTRY, DASHBOARD_SETTINGS],
      useFactory: (services: LockServices, resolved: ResolvedDashboardSettings) =>
        new LockDashboard(services, resolved),
    },
  ],
});
