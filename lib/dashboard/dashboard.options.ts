import type { CanActivate, InjectionToken, ModuleMetadata, Type } from '@nestjs/common';
import { LONGEST_TIMER } from '../common/clock.js';
import { refuseUrls } from '../common/refuse-urls.js';
import { describe, quote } from '../common/describe.js';
import { refuseHoles } from '../options/plain-options.js';
import type { Duration } from '../common/duration.js';
import { LockConfigError } from '../errors/index.js';
import { readCount, readDuration, readFlag, refuseUnknownOptions } from '../options/option-readers.js';

/** What a page shows, and what its viewers can do. */
export interface RedisLockDashboardSettings {
  /**
   * Whether the page only shows locks and cannot release them. With `guards: 'none'` the default is `true`: a page without guards releases locks only
   * if both options say so.
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

export const PLACE_OPTIONS = ['path', 'guards', 'imports'] satisfies Array<keyof RedisLockDashboardPlace>;
export const SETTINGS = ['readOnly', 'instance', 'refresh', 'limit'] satisfies Array<keyof RedisLockDashboardSettings>;

/** The shortest interval that a person can follow. */
const SHORTEST_REFRESH = 250;
const DEFAULTS = { path: 'locks', refresh: 2_000, limit: 200 };

/** @throws LockConfigError */
export function resolvePlace({ path, guards }: RedisLockDashboardPlace): ResolvedDashboardPlace {
  return { path: readPath(path ?? DEFAULTS.path), guards: guards === 'none' ? [] : readGuards(guards) };
}

/** @throws LockConfigError */
export function resolveSettings(
  written: RedisLockDashboardSettings,
  { guards }: Pick<RedisLockDashboardPlace, 'guards'>,
): ResolvedDashboardSettings {
  const { readOnly = guards === 'none', instance, refresh = DEFAULTS.refresh, limit = DEFAULTS.limit } = written;
  return Object.freeze({
    readOnly: readFlag('readOnly', readOnly),
    instances: instance === undefined ? undefined : readNames(instance),
    refresh: readRefresh(refresh),
    limit: readCount('limit', limit, 1),
  });
}

/** @throws LockConfigError for an option that would be ignored silently */
export function refuseOtherOptions(method: string, written: unknown, known: readonly string[]): void {
  const label = `RedisLockDashboardModule.${method}`;
  refuseUnknownOptions(label, written, known);
}

function readPath(path: unknown): string {
  const trimmed = typeof path === 'string' ? path.replace(/^\/+|(?<!\/)\/+$/g, '') : '';
  // A parameter or wildcard would serve the page at many paths. A browser drops empty segments and dots.
  if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(trimmed) && !/(^|\/)\.\.?(\/|$)/.test(trimmed)) return trimmed;
  const given = typeof path === 'string' && path !== '' ? quote(path) : describe(path);
  throw new LockConfigError(
    `path is ${given}; write segments of letters and digits, such as 'locks' or 'admin/locks'.`,
  );
}

function readGuards(guards: unknown): ResolvedDashboardPlace['guards'] {
  if (Array.isArray(guards)) refuseHoles('guards', guards);
  if (Array.isArray(guards) && guards.length > 0 && guards.every(isGuard)) return guards;
  throw new LockConfigError(
    'RedisLockDashboardModule shows the holders of all locks and can release them, so it needs guards: write guards: [AdminGuard], ' +
      "or guards: 'none' if access is controlled elsewhere.",
  );
}

const isGuard = (guard: unknown): guard is Type<CanActivate> | CanActivate =>
  typeof guard === 'function' ||
  (typeof guard === 'object' && guard !== null && typeof (guard as Partial<CanActivate>).canActivate === 'function');

function readNames(instance: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(instance) ? instance : [instance];
  refuseHoles('instance', names);
  for (const name of names) refuseUrls('instance', name);
  if (names.length > 0 && names.every((name) => typeof name === 'string' && name !== '')) return names as string[];
  throw new LockConfigError("instance must be the name of a RedisLockModule such as 'jobs', or a list of names.");
}

function readRefresh(refresh: unknown): number {
  const ms = readDuration('refresh', refresh);
  if (ms >= SHORTEST_REFRESH) return Math.min(ms, LONGEST_TIMER);
  throw new LockConfigError(`refresh is too short: write at least ${SHORTEST_REFRESH} ms.`);
}
