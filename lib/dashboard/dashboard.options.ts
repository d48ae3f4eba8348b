import type { CanActivate, InjectionToken, ModuleMetadata, Type } from '@nestjs/common';
import { LONGEST_TIMER } from '../common/clock.js';
import type { Duration } from '../common/duration.js';
import { describe } from '../common/describe.js';
import { LockConfigError } from '../errors/index.js';
import { checked, isFunction, isObject, Options, read, refuse, type OptionReader } from '../options/option-readers.js';

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

const readRefresh: OptionReader<number> = (label, written) => {
  const ms = read.duration(label, written);
  if (ms >= SHORTEST_REFRESH) return Math.min(ms, LONGEST_TIMER);
  return refuse(label, written, `at least ${SHORTEST_REFRESH} ms`);
};

const PLACE = {
  path: readPath,
  guards: (label: string, written: unknown): readonly Guard[] =>
    written === 'none' ? [] : read.list(label, written, isGuard, "guards: [AdminGuard], or 'none'"),
  imports: (_label: string, written: unknown) => written as RedisLockDashboardPlace['imports'],
};

const SETTINGS = {
  readOnly: read.flag,
  instance: (label: string, written: unknown): readonly string[] =>
    Array.isArray(written)
      ? read.list(label, written, read.instance, 'a list of names')
      : [read.instance(label, written)],
  refresh: readRefresh,
  limit: (label: string, written: unknown) => read.count(label, written),
};

const DEFAULTS = { refresh: 2_000, limit: 200 };
const PATH = { path: 'locks' };

const ROOT = new Options({ ...PLACE, ...SETTINGS }, { ...PATH, ...DEFAULTS });
const ASYNC = new Options({ ...PLACE, inject: read.asWritten, useFactory: read.listener }, PATH);
const MADE = new Options(SETTINGS, DEFAULTS, (name) =>
  Object.hasOwn(PLACE, name)
    ? `: ${name} has no effect here: write it beside the factory: forRootAsync({ ${name}, … }).`
    : undefined,
);

/** The path and the guards of a page. */
export type ResolvedDashboardPlace = Pick<ReturnType<typeof ROOT.read>, 'path' | 'imports'> & {
  readonly guards: readonly Guard[];
};

/** The settings of a page. `instance`: the names of all instances that it shows; `undefined`: all. */
export type ResolvedDashboardSettings = ReturnType<typeof MADE.read> & { readonly readOnly: boolean };

/** @throws LockConfigError */
export function readRootOptions(written: unknown): ResolvedDashboardPlace & ResolvedDashboardSettings {
  const page = guarded(ROOT.read('RedisLockDashboardModule.forRoot', written));
  return { ...page, readOnly: page.readOnly ?? page.guards.length === 0 };
}

/** @throws LockConfigError */
export const readAsyncOptions = (written: unknown): ResolvedDashboardPlace =>
  guarded(ASYNC.read('RedisLockDashboardModule.forRootAsync', written));

/** Reads the settings that a factory made. @throws LockConfigError */
export function readMadeSettings(made: unknown, guards: readonly Guard[]): ResolvedDashboardSettings {
  if (isObject(made)) {
    const settings = MADE.read('RedisLockDashboardModule.forRootAsync', made);
    return { ...settings, readOnly: settings.readOnly ?? guards.length === 0 };
  }
  throw new LockConfigError(
    `RedisLockDashboardModule.forRootAsync: the factory returned ${describe(made)}: return the settings, or {} for the defaults.`,
  );
}

function guarded<Place extends { readonly guards: readonly Guard[] | undefined }>(place: Place) {
  const { guards } = place;
  if (guards !== undefined) return { ...place, guards };
  throw new LockConfigError(
    'RedisLockDashboardModule shows the holders of all locks and can release them, so it needs guards: write guards: [AdminGuard], ' +
      "or guards: 'none' if access is controlled elsewhere.",
  );
}
