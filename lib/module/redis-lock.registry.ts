import type { OnModuleInit } from '@nestjs/common';
import type { ModuleRef, ModulesContainer } from '@nestjs/core';
import { withoutLogin } from '../common/credentials.js';
import { LockConfigError } from '../errors/index.js';
import type { LockService, LockServices } from '../service/lock.service.js';
import {
  DASHBOARD_SETTINGS,
  DEFAULT_INSTANCE,
  getLockServiceToken,
  INSTANCE_NAME,
  INSTANCE_OPTIONS,
} from './redis-lock.tokens.js';

/** The options that forRootAsync makes, and its class. */
const MADE_ONCE = [
  [INSTANCE_OPTIONS, 'RedisLockModule'],
  [DASHBOARD_SETTINGS, 'RedisLockDashboardModule'],
] as const;

/**
 * Knows all instances of the module in one application, also those of another copy of this package. It reads them from the
 * application's own container, so several applications in a process never see each other.
 */
export class LockRegistry implements LockServices, OnModuleInit {
  private readonly services = new Map<string, LockService>();
  // Private, because instances with locked methods refer to this object: printing one must not print the whole application.
  readonly #modules: ModulesContainer;
  readonly #moduleRef: ModuleRef;

  /** @param replaced the services by which a test replaces those of instances */
  constructor(
    modules: ModulesContainer,
    moduleRef: ModuleRef,
    private readonly replaced: ReadonlyMap<string, LockService> = new Map(),
  ) {
    this.#modules = modules;
    this.#moduleRef = moduleRef;
  }

  /**
   * This class depends on no options, so Nest makes it even if the options of an instance depend on a request.
   * @throws LockConfigError for modules that cannot work as they are imported
   */
  onModuleInit(): void {
    this.refuseOptionsOfRequests();
    this.refusePages();
    for (const [name, service] of this.replaced) {
      if (this.service(name) === service) continue;
      throw new LockConfigError(
        `LockTesting.override has not replaced the locks '${name}': the test imports another copy of nestjs-redis-locks than ` +
          'the application, or it overrides LockService itself, too.',
      );
    }
  }

  /** Refuses options that would be made again for each request. */
  private refuseOptionsOfRequests(): void {
    for (const { providers } of this.#modules.values()) {
      for (const [token, module] of MADE_ONCE) {
        if (providers.get(token)?.isDependencyTreeStatic() !== false) continue;
        throw new LockConfigError(
          `the options of ${module}.forRootAsync depend on a request-scoped provider, but they are made once, at the start: ` +
            'inject providers without a scope. For a key of each tenant write keyBuilder, which runs at each call.',
        );
      }
    }
  }

  /** Refuses a page of the dashboard without options, and one whose path another one has: its guards would never be asked. */
  private refusePages(): void {
    const paths = new Set<unknown>();
    for (const { name, providers, controllers } of this.#modules.values()) {
      if (name !== 'RedisLockDashboardModule') continue;
      if (!providers.has(DASHBOARD_SETTINGS)) {
        throw new LockConfigError(
          `${name} was imported without options: write ${name}.forRoot({ guards: [AdminGuard] }).`,
        );
      }
      for (const { metatype } of controllers.values()) {
        const path: unknown = Reflect.getMetadata('path', metatype as object);
        if (paths.has(path)) {
          throw new LockConfigError(
            `${name} is set up twice with the path '${String(path)}', so the second page would never be served: ` +
              'give each a path of its own, or import what one forRoot() has returned in both modules.',
          );
        }
        paths.add(path);
      }
    }
  }

  /** The names of all instances, one for each time the module was set up. */
  names(): string[] {
    return [...this.#modules.values()].flatMap((module) => {
      const name: unknown = module.providers.get(INSTANCE_NAME)?.instance;
      return typeof name === 'string' ? [name] : [];
    });
  }

  /** The service of an instance, or its stand-in in a test. */
  service(name: string): LockService {
    const known = this.services.get(name);
    if (known !== undefined) return known;
    if (!this.names().includes(name)) throw new LockConfigError(this.unknownName(name));
    const service = this.#moduleRef.get<LockService>(getLockServiceToken(name), { strict: false });
    this.services.set(name, service);
    return service;
  }

  unknownName(given: string): string {
    const name = withoutLogin(given);
    const names = this.names();
    if (names.includes(name)) {
      const options = name === DEFAULT_INSTANCE ? '' : `instance: '${name}', `;
      return (
        `RedisLockModule '${name}' is set up with isGlobal: false, and the module of this class does not import it: ` +
        `keep what forRoot({ ${options}isGlobal: false, … }) returns and import it in both modules, or leave isGlobal out.`
      );
    }
    const known = names.map((each) => `'${each}'`);
    const remedy =
      name === DEFAULT_INSTANCE
        ? 'import RedisLockModule.forRoot() without a name, or name one of these as instance'
        : `import RedisLockModule.forRoot({ instance: '${name}' })`;
    return `there is no RedisLockModule named '${name}': ${remedy}. Known: ${known.join(', ') || 'none'}.`;
  }

  /** @throws LockConfigError if two instances have the same name */
  refuseDuplicates(): void {
    const names = this.names();
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice === undefined) return;
    if ([...this.#modules.values()].some(({ name }) => name === 'RedisLockTestingModule')) {
      const options = twice === DEFAULT_INSTANCE ? '' : `{ instance: '${twice}' }`;
      throw new LockConfigError(
        `the locks '${twice}' are set up twice, once by RedisLockTestingModule. If the application imports RedisLockModule, write ` +
          `new LockTesting(${options}).override(Test.createTestingModule({ imports: [AppModule] })) instead.`,
      );
    }
    throw new LockConfigError(
      twice === DEFAULT_INSTANCE
        ? "RedisLockModule is set up twice without a name: call forRoot() once, and give others a name: forRoot({ instance: 'jobs' })."
        : `RedisLockModule is set up twice with the name '${twice}': every instance needs a name of its own.`,
    );
  }
}
