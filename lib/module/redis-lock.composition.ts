import { messageOf } from '../common/describe.js';
import { Subject } from 'rxjs';
import { systemClock, type Clock } from '../common/clock.js';
import { labelled, singleLine, sturdy, type LockLogger } from '../common/logger.js';
import { EventChannels } from '../observation/diagnostics/event-channels.js';
import { createEngineContext, type EngineContext } from '../engine/engine-context.js';
import { LockEngine } from '../engine/lock-engine.js';
import type { LockEvent } from '../engine/lock-event.js';
import { ObservedEvents } from './redis-lock.events.js';
import { LockService } from '../service/lock.service.js';
import { read } from '../options/option-readers.js';
import { OptionWarnings } from '../options/resolve-acquire-options.js';
import { warningsAboutUrls, type LockConnectionOption, type RedisConnectionOption } from './redis-lock.connection.js';
import type { ResolvedModuleOptions } from './redis-lock.options.js';
import type { LockStoreContext } from './redis-lock.store.js';
import type { LockStore } from '../store/lock-store.js';
import { warnOfMemoryOnly } from '../store/memory/memory-only.js';
import { createMemoryStore } from '../store/memory/memory-store.js';
import { QuorumStore } from '../store/quorum/quorum-store.js';
import { newClientId, RedisStore } from '../store/redis/redis-store.js';

/** The class of a service. */
type ServiceClass<Service extends LockService> = new (...parts: ConstructorParameters<typeof LockService>) => Service;

/** Parts that tests replace, and the class of the service. */
export interface InstanceParts<Service extends LockService = LockService> {
  readonly clock?: Clock;
  readonly engine?: (context: EngineContext) => LockEngine;
  readonly service?: ServiceClass<Service>;
}

/** Creates one instance: store, engine, service. It sends nothing before `start()` or the first lock. */
export function createLockService<Service extends LockService = LockService>(
  options: ResolvedModuleOptions,
  log: LockLogger,
  {
    clock = systemClock,
    engine: makeEngine = (context) => new LockEngine(context),
    service: Service = LockService as ServiceClass<Service>,
  }: InstanceParts<Service> = {},
): Service {
  const logger = singleLine(sturdy(log));
  const { instance: name, keyPrefix, commandTimeout, grantTimeout } = options;
  new OptionWarnings((warning) => logger.warn(warning)).about('defaults', options.writtenDefaults);
  const events = new Subject<LockEvent>();
  const context = createEngineContext({
    store: createStore(options, { clock, logger, keyPrefix, commandTimeout }),
    clock,
    label: options.label,
    random: Math.random,
    logger,
    sink: new EventChannels(name, events),
    limits: {
      commandTimeout,
      grantTimeout,
      // No client of Redisson can have another one end a batch.
      batch: { size: options.protocol === undefined ? options.localHandoffs : 1, time: options.localHandoffTime },
    },
  });
  const observed = new ObservedEvents<LockEvent>(events, (error) =>
    logger.error(`a subscriber of the lock events threw an error, or has no handler for one: ${messageOf(error)}`),
  );
  return new Service(makeEngine(context), context, observed, options);
}

/** The line that a client logs once at its start. By these names other processes, Redis and the CLI know it. */
export function introduction(
  { instance: name, clientId, label }: Pick<LockService, 'instance' | 'clientId' | 'label'>,
  { keyPrefix, protocol }: Pick<ResolvedModuleOptions, 'keyPrefix' | 'protocol'>,
): string {
  const prefix = protocol === undefined ? `, prefix '${keyPrefix}'` : '';
  return `locks '${name}': client ${clientId}, label ${label}${prefix}`;
}

function createStore(options: ResolvedModuleOptions, parts: LockStoreContext): LockStore {
  if (typeof options.store === 'function') {
    const store = options.store(parts);
    read.withMethods(['start', 'close', 'listen'], 'a LockStore')('what store returned', store);
    return store;
  }
  if (options.store === 'redis') return createRedisStore(options, parts);
  warnOfMemoryOnly(parts.logger);
  return createMemoryStore(parts);
}

function createRedisStore({ keyPrefix, label, ...options }: ResolvedModuleOptions, parts: LockStoreContext): LockStore {
  const { clock, logger, commandTimeout } = parts;
  const connection = options.connection();
  for (const warning of warningsAboutUrls(connection)) logger.warn(warning);
  if (options.protocol !== undefined) {
    return options.protocol.createStore({ ...options, connection, keyPrefix, logger });
  }
  if (!isSeveral(connection)) return new RedisStore({ connection, keyPrefix, label, commandTimeout }, logger);
  if (connection.length % 2 === 0) {
    logger.warn(
      `connection names ${connection.length} masters, an even number: ` +
        `they tolerate no more failures than ${connection.length - 1} masters do.`,
    );
  }
  const clientId = newClientId();
  const members = connection.map(
    (each, i) =>
      new RedisStore(
        { connection: each, keyPrefix, label, commandTimeout, clientId },
        labelled(logger, `master ${i + 1}`),
      ),
  );
  return new QuorumStore({ members, commandTimeout, logger, clock });
}

const isSeveral = (connection: LockConnectionOption): connection is readonly RedisConnectionOption[] =>
  Array.isArray(connection);
