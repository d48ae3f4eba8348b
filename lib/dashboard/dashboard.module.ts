import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { describe } from '../common/describe.js';
import type { LockServices } from '../decorators/injected-service.js';
import { LockConfigError } from '../errors/index.js';
import { LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import { controllerAt } from './dashboard.controller.js';
import {
  PLACE_OPTIONS,
  resolvePlace,
  resolveSettings,
  SETTINGS_OPTIONS,
  type RedisLockDashboardAsyncOptions,
  type RedisLockDashboardOptions,
  type RedisLockDashboardPlace,
  type RedisLockDashboardSettings,
  type ResolvedDashboardPlace,
  type ResolvedDashboardSettings,
} from './dashboard.options.js';
import { LockDashboard } from './lock-dashboard.js';

/** Provides the resolved settings within the module. */
const DASHBOARD_SETTINGS = Symbol('nestjs-redis-locks:dashboard-settings');

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
    const place = resolvePlace('forRoot', options, SETTINGS_OPTIONS.names);
    const useValue = resolveSettings('forRoot', options, options.guards, PLACE_OPTIONS.names);
    return dashboard(place, options.imports, { provide: DASHBOARD_SETTINGS, useValue });
  }

  /**
   * Like `forRoot`, with settings from other providers.
   * @throws LockConfigError if no guards are named. If the settings cannot be used, the application does not start.
   */
  static forRootAsync(options: RedisLockDashboardAsyncOptions): DynamicModule {
    const place = resolvePlace('forRootAsync', options, ['inject', 'useFactory']);
    const { inject = [], useFactory } = options;
    if (typeof useFactory !== 'function') {
      throw new LockConfigError(
        'RedisLockDashboardModule.forRootAsync takes useFactory, a function that returns the settings.',
      );
    }
    return dashboard(place, options.imports, {
      provide: DASHBOARD_SETTINGS,
      inject,
      useFactory: async (...args: unknown[]) => resolveMade(await useFactory(...args), options.guards),
    });
  }
}

function dashboard(
  place: ResolvedDashboardPlace,
  imports: RedisLockDashboardPlace['imports'] = [],
  settings: Provider,
): DynamicModule {
  return {
    module: RedisLockDashboardModule,
    imports,
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
  };
}

function resolveMade(
  made: RedisLockDashboardSettings,
  guards: RedisLockDashboardPlace['guards'],
): ResolvedDashboardSettings {
  if (typeof made !== 'object' || made === null) {
    throw new LockConfigError(
      `RedisLockDashboardModule.forRootAsync: the factory returned ${describe(made)}: return the settings, or {} for the defaults.`,
    );
  }
  const early = Object.keys(made).find((name) => PLACE_OPTIONS.names.includes(name));
  if (early !== undefined) {
    throw new LockConfigError(
      `${early} has no effect here: write it beside the factory: forRootAsync({ ${early}, … }).`,
    );
  }
  return resolveSettings('forRootAsync', made, guards);
}
