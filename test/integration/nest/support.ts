import {
  Injectable,
  type HttpServer,
  type INestApplication,
  type INestApplicationContext,
  type ModuleMetadata,
} from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { DistributedLock, LockService, RedisLockModule } from 'nestjs-redis-locks';
import type { RedisLockRootOptions } from '../../../lib/module/redis-lock.options.js';
import { LockBench, deferred, type Deferred, type RedisServer } from '../../../lab/testbed/locks/locks.js';

export interface ListenOptions {
  /** Default: Express. */
  readonly adapter?: () => HttpServer;
  /** Before it listens. */
  readonly prepare?: (app: INestApplication) => unknown;
  /** Whether connections are cut at the end, or waited for. Default `true`. */
  readonly forceCloseConnections?: boolean;
}

/** A Redis for the tests of a file, and applications on it that are closed after each test. */
export class NestBench {
  /** The warnings of the applications. */
  readonly warnings: string[] = [];
  private readonly logger = {
    ...{ log() {}, error() {}, debug() {}, verbose() {}, fatal() {} },
    warn: (text: unknown) => void this.warnings.push(String(text)),
  };
  private readonly bench = new LockBench();

  constructor() {
    afterEach(() => void this.warnings.splice(0));
  }

  get redis(): RedisServer {
    return this.bench.redis;
  }

  /** The module on this bench's Redis. */
  locks(options: RedisLockRootOptions = {}) {
    return RedisLockModule.forRoot({ connection: this.redis.url, ...options });
  }

  /** A test application that has the module, not yet compiled. */
  build(metadata: ModuleMetadata, options?: RedisLockRootOptions): TestingModuleBuilder {
    return Test.createTestingModule({
      ...metadata,
      imports: [this.locks(options), ...(metadata.imports ?? [])],
    }).setLogger(this.logger);
  }

  /** A started application that has the module. */
  boot(metadata: ModuleMetadata = {}, options?: RedisLockRootOptions) {
    return this.start(this.build(metadata, options));
  }

  async start(builder: TestingModuleBuilder) {
    const app = await builder.setLogger(this.logger).compile();
    this.closeLater(app);
    try {
      return await app.init();
    } catch (error) {
      // Nest 11 would answer close() with this error, too, and call no hooks.
      Reflect.set(app, 'initializationPromise', undefined);
      throw error;
    }
  }

  /** A started application that serves HTTP. */
  async listen(
    builder: TestingModuleBuilder,
    { adapter, prepare, forceCloseConnections = true }: ListenOptions = {},
  ): Promise<{ readonly app: INestApplication; readonly url: string }> {
    const module = await builder.compile();
    const settings = { logger: this.logger, forceCloseConnections };
    const app: INestApplication = adapter
      ? module.createNestApplication(adapter() as never, settings)
      : module.createNestApplication(settings);
    this.closeLater(app);
    await prepare?.(app);
    await app.listen(0, '127.0.0.1');
    return { app, url: await app.getUrl() };
  }

  /** Resolves when so many wait for a key. */
  untilWaiting(key: string, count: number): Promise<void> {
    return this.bench.untilWaiting(key, count);
  }

  closeLater(app: INestApplicationContext): void {
    this.bench.endLater({ [Symbol.asyncDispose]: () => app.close() });
  }

  /** Starts an application that has providers and nothing else, and gives their instances. */
  async make<T>(type: new (...args: any[]) => T, options?: RedisLockRootOptions): Promise<T> {
    return (await this.boot({ providers: [type] }, options)).resolve(type);
  }

  /** An instance with one method, which is locked with these options. */
  stockWith(options: object, work: (...args: any[]) => unknown = () => undefined, module?: RedisLockRootOptions) {
    @Injectable()
    class Stock {
      readonly shelf = 9;

      @DistributedLock({ key: 'stock:1', ...options } as any)
      async reserve(...args: any[]): Promise<any> {
        return work.apply(this, args);
      }
    }
    return this.make(Stock, module);
  }

  /** The service of another application. It does not wait for holders when it is closed. */
  async other(options?: RedisLockRootOptions): Promise<LockService> {
    return (await this.boot({}, { shutdownTimeout: 0, ...options })).get(LockService);
  }

  /** Holds a key as another caller, until the test lets go. */
  async occupy(key: string): Promise<{ release(): Promise<unknown> }> {
    return (await this.other()).acquire(key);
  }
}

/** A piece of work that tells when it has begun, and ends when the test says so. */
export class Work<T = void> {
  readonly begun: Deferred<void> = deferred();
  readonly end: Deferred<T> = deferred<T>();

  run(): Promise<T> {
    this.begun.resolve();
    return this.end;
  }
}
