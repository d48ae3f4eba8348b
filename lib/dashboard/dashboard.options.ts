import type { CanActivate, InjectionToken, ModuleMetadata, Type } from '@nestjs/common';
import { LONGEST_TIMER } from '../common/clock.js';
import type { Duration } from '../common/duration.js';
import { LockConfigError } from '../errors/index.js';
import {
  checked,
  isFunction,
  Options,
  readCount,
  readDuration,
  readFlag,
  readInstanceName,
  readList,
  refuse,
  type OptionReader,
} from '../options/option-readers.js';
import { asWritten } from '../options/option-table.js';

type Guard = Type<CanActivate> | CanActivate;

/** What a page shows, and what its viewers can do. */
export interface RedisLockDashboardSettings {
  /**
   * Whether the page only shows locks and cannot release them. With `guards: 'none'` the default is `true`: a page
   * without guards releases locks only if both options say so.
   * @defaultValue false
   */
  readOnly?: boolean;
  /**
   * The name of the module instance to show, or a list of names.
   * @defaultValue all
   */
  instance?: string | readonly string[];
  /**
   * How often to query Redis while the page is open, in milliseconds or `'5s'`; at least 250 ms.
   * @defaultValue 2 s
   */
  refresh?: Duration;
  /**
   * The largest number of keys to show.
   * @defaultValue 200
   */
  limit?: number;
}

/** Where a page is, and who may see it. */
export interface RedisLockDashboardPlace {
  /**
   * Required: the guards that decide who may use the page, as in `@UseGuards`. All must allow each request. Or `'none'`, if
   * access is controlled elsewhere: by a global guard, a proxy or the network.
   */
  guards: ReadonlyArray<Type<CanActivate> | CanActivate> | 'none';
  /**
   * The path of the page, behind the application's global prefix.
   * @defaultValue 'locks'
   */
  path?: string;
  /** Modules whose providers the guards inject. */
  imports?: NonNullable<ModuleMetadata['imports']>;
}

/** The options of `RedisLockDashboardModule.forRoot`. */
export interface RedisLockDashboardOptions extends RedisLockDashboardPlace, RedisLockDashboardSettings {}

/** The options of `RedisLockDashboardModule.forRootAsync`: path and guards must be known before the settings are made. */
export interface RedisLockDashboardAsyncOptions extends RedisLockDashboardPlace {
  /** The providers that `useFactory` is called with. */
  inject?: Array<InjectionToken | { token: InjectionToken; optional: boolean }>;
  /** A function that returns the settings or a promise of them. Its arguments are the providers in `inject`. */
  useFactory: (...args: any[]) => RedisLockDashboardSettings | Promise<RedisLockDashboardSettings>;
}

/** The resolved settings. */
export interface ResolvedDashboardSettings {
  readonly readOnly: boolean;
  /** `undefined`: all instances. */
  readonly instances: readonly string[] | undefined;
  /** ms */
  readonly refresh: number;
  readonly limit: number;
}

/** The resolved path and guards. */
export interface ResolvedDashboardPlace {
  readonly path: string;
  readonly guards: ReadonlyArray<Type<CanActivate> | CanActivate>;
}

/** The shortest interval that a person can follow. */
const SHORTEST_REFRESH = 250;

function readPath(label: string, path: unknown): string {
  const trimmed = typeof path === 'string' ? path.replace(/^\/+|(?<!\/)\/+$/g, '') : '';
  // A parameter or wildcard would serve the page at many paths. A browser drops empty segments and dots.
  if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(trimmed) && !/(^|\/)\.\.?(\/|$)/.test(trimmed)) return trimmed;
  return refuse(label, path, "segments of letters and digits, such as 'locks' or 'admin/locks'");
}

const isGuard = checked<Guard>(
  (guard: Partial<CanActivate> | null | undefined) => isFunction(guard) || isFunction(guard?.canActivate),
  'a guard or its class, as in guards: [AdminGuard]',
);

const readGuards: OptionReader<readonly Guard[]> = (label, written) =>
  written === 'none' ? [] : readList(label, written, isGuard, "guards: [AdminGuard], or 'none'");

const readNames: OptionReader<readonly string[]> = (label, written) =>
  Array.isArray(written)
    ? readList(label, written, readInstanceName, 'a list of names')
    : [readInstanceName(label, written)];

const readRefresh: OptionReader<number> = (label, written) => {
  const ms = readDuration(label, written);
  if (ms >= SHORTEST_REFRESH) return Math.min(ms, LONGEST_TIMER);
  return refuse(label, written, `at least ${SHORTEST_REFRESH} ms`);
};

/** Where a page is: how each option is read, and its default. */
export const PLACE_OPTIONS = new Options({ path: readPath, guards: readGuards, imports: asWritten }, { path: 'locks' });
/** What a page shows: how each option is read, and its default. */
export const SETTINGS_OPTIONS = new Options(
  {
    readOnly: readFlag,
    instance: readNames,
    refresh: readRefresh,
    limit: (label: string, written: unknown) => readCount(label, written, 1),
  },
  { refresh: 2_000, limit: 200 },
);

/** @throws LockConfigError */
export function resolvePlace(
  method: string,
  written: RedisLockDashboardPlace,
  more: readonly string[],
): ResolvedDashboardPlace {
  const { path, guards } = PLACE_OPTIONS.read(`RedisLockDashboardModule.${method}`, written, '', more);
  if (guards !== undefined) return { path, guards };
  throw new LockConfigError(
    'RedisLockDashboardModule shows the holders of all locks and can release them, so it needs guards: write guards: [AdminGuard], ' +
      "or guards: 'none' if access is controlled elsewhere.",
  );
}

/** @throws LockConfigError */
export function resolveSettings(
  method: string,
  written: RedisLockDashboardSettings,
  guards: RedisLockDashboardPlace['guards'],
  more: readonly string[] = [],
): ResolvedDashboardSettings {
  const label = `RedisLockDashboardModule.${method}`;
  const { instance, readOnly = guards === 'none', ...settings } = SETTINGS_OPTIONS.read(label, written, '', more);
  return Object.freeze({ ...settings, readOnly, instances: instance });
}
