import type { CanActivate, InjectionToken, ModuleMetadata, Type } from '@nestjs/common';
import { LONGEST_TIMER } from '../common/clock.js';
import type { Duration } from '../common/duration.js';
import { isFunction } from '../common/type-guards.js';
import { hints, Options, or, read, refuse, required } from '../options/option-readers.js';
import type { ReadOptions } from '../options/option-readers.js';

type Guard = Type<CanActivate> | CanActivate;

/** What a page shows, and what its viewers can do. */
export interface RedisLockDashboardSettings {
  /**
   * Whether the page only shows locks and cannot release them. With `guards: 'none'` the default is `true`: a page
   * without guards releases locks only if both options say so.
   * @defaultValue false
   */
  readOnly?: boolean | undefined;
  /**
   * The name of the module instance to show, or a list of names.
   * @defaultValue all
   */
  instance?: string | readonly string[] | undefined;
  /**
   * How often to query Redis while the page is open, in milliseconds or `'5s'`; at least 250 ms.
   * @defaultValue 2 s
   */
  refresh?: Duration | undefined;
  /**
   * The largest number of keys to show.
   * @defaultValue 200
   */
  limit?: number | undefined;
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
  path?: string | undefined;
  /** Modules whose providers the guards inject. */
  imports?: NonNullable<ModuleMetadata['imports']> | undefined;
}

/** The options of `RedisLockDashboardModule.forRoot`. */
export interface RedisLockDashboardOptions extends RedisLockDashboardPlace, RedisLockDashboardSettings {}

/** The options of `RedisLockDashboardModule.forRootAsync`: path and guards must be known before the settings are made. */
export interface RedisLockDashboardAsyncOptions extends RedisLockDashboardPlace {
  /** The providers that `useFactory` is called with. */
  inject?: Array<InjectionToken | { token: InjectionToken; optional: boolean }> | undefined;
  /** A function that returns the settings or a promise of them. Its arguments are the providers in `inject`. */
  useFactory: (...args: any[]) => RedisLockDashboardSettings | Promise<RedisLockDashboardSettings>;
}

function readPath(label: string, path: unknown): string {
  const trimmed = typeof path === 'string' ? path.replace(/^\/+|(?<!\/)\/+$/g, '') : '';
  // A parameter or wildcard would serve the page at many paths. A browser drops empty segments and dots.
  if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(trimmed) && !/(^|\/)\.\.?(\/|$)/.test(trimmed)) return trimmed;
  return refuse(label, path, "segments of letters and digits, such as 'locks' or 'admin/locks'");
}

const isGuard = read.checked<Guard>(
  (guard: Partial<CanActivate> | null | undefined) => isFunction(guard) || isFunction(guard?.canActivate),
  'a guard or its class, as in guards: [AdminGuard]',
);
const listOfGuards = read.listOf(
  isGuard,
  "guards: [AdminGuard], or guards: 'none' if access is controlled elsewhere: the page shows the holders of all locks and can " +
    'release them',
);

const PLACE = {
  path: or(readPath, 'locks'),
  guards: required((label, written) => (written === 'none' ? [] : listOfGuards(label, written))),
  imports: read.list,
};

/** The shortest interval that a person can follow. */
const SHORTEST_REFRESH = 250;

const SETTINGS = {
  readOnly: read.flag,
  instance: read.oneOrMore(read.instance, 'a list of names'),
  refresh: or(read.atLeast(SHORTEST_REFRESH, LONGEST_TIMER), 2_000),
  limit: or(read.count(), 200),
};

const ROOT = new Options({ ...PLACE, ...SETTINGS });
const ASYNC = new Options({
  ...PLACE,
  inject: read.list,
  useFactory: required(read.func<RedisLockDashboardAsyncOptions['useFactory']>('a function that returns the settings')),
});
const MADE = new Options(
  SETTINGS,
  hints(Object.keys(PLACE), (name) => `write it beside the factory: forRootAsync({ ${name}, … })`),
);

/** The path and the guards of a page. */
export type ResolvedDashboardPlace = ReadOptions<typeof PLACE>;

/** The settings of a page. `instance`: the names of all instances that it shows; `undefined`: all. */
export type ResolvedDashboardSettings = ReadOptions<typeof SETTINGS> & { readonly readOnly: boolean };

/** @throws LockConfigError */
export function readRootOptions(written: unknown): ResolvedDashboardPlace & ResolvedDashboardSettings {
  const page = ROOT.read('RedisLockDashboardModule.forRoot', written);
  return { ...page, readOnly: page.readOnly ?? page.guards.length === 0 };
}

/** @throws LockConfigError */
export const readAsyncOptions = (written: unknown): ReadOptions<typeof ASYNC.readers> =>
  ASYNC.read('RedisLockDashboardModule.forRootAsync', written);

/** Reads the settings that a factory made. @throws LockConfigError */
export function readMadeSettings(made: unknown, guards: readonly Guard[]): ResolvedDashboardSettings {
  const settings = MADE.read('RedisLockDashboardModule.forRootAsync, from its factory,', made);
  return { ...settings, readOnly: settings.readOnly ?? guards.length === 0 };
}
