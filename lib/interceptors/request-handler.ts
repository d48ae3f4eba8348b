import { declaredLocks } from './handler-lock-metadata.js';

/**
 * Metadata that does not make a method a request handler: metadata that any method can have, and that of packages which call
 * methods directly, without interceptors.
 */
const NOT_OF_HANDLERS =
  /^(?:nestjs-redis-locks:|design:|__(?:interceptors|guards|pipes|exceptionFilters)__$|SCHEDULER?_|EVENT_LISTENER_METADATA$|bull(?:mq)?:)/;

/**
 * Whether Nest may call a method as a request handler. Handlers have many kinds of metadata (a route, a pattern, a message, a
 * field, those of other transports), so all metadata counts unless it is known not to. Resolvers may have it on the class.
 */
export function isRequestHandler(type: unknown, method: object): boolean {
  const marks: unknown[] = Reflect.getOwnMetadataKeys(method);
  if (!marks.every((mark) => typeof mark === 'string' && NOT_OF_HANDLERS.test(mark))) return true;
  return (
    typeof type === 'function' &&
    Reflect.getMetadataKeys(type).some((mark) => typeof mark === 'string' && mark.startsWith('graphql:'))
  );
}

/** The method that instances of a class have under a name, if it has `@UseLock`. */
export function lockedHandler(type: unknown, name: string | symbol): object | undefined {
  if (typeof type !== 'function') return undefined;
  for (let owner: unknown = type.prototype; typeof owner === 'object' && owner !== null;) {
    const method: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value;
    if (method !== undefined)
      return typeof method === 'function' && declaredLocks(method).length > 0 ? method : undefined;
    owner = Object.getPrototypeOf(owner);
  }
  return undefined;
}
