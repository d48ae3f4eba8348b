import { declaredLocks } from './handler-lock-metadata.js';

/**
 * What stands on methods that nobody calls through interceptors: what can be put around any method, and the marks of
 * those who call methods directly.
 */
const NOT_OF_HANDLERS =
  /^(?:nestjs-redis-locks:|design:|__(?:interceptors|guards|pipes|exceptionFilters)__$|SCHEDULER?_|EVENT_LISTENER_METADATA$|bull(?:mq)?:)/;

/**
 * Whether Nest may call a method as a request handler. The mark is of many kinds (a route, a pattern, a message, a field,
 * whatever packages for other transports have), so anything that is not known to be none counts as one. Resolvers may have
 * theirs on the class.
 */
export function isRequestHandler(type: unknown, method: object): boolean {
  const marks: unknown[] = Reflect.getOwnMetadataKeys(method);
  if (!marks.every((mark) => typeof mark === 'string' && NOT_OF_HANDLERS.test(mark))) return true;
  return (
    typeof type === 'function' &&
    Reflect.getMetadataKeys(type).some((mark) => typeof mark === 'string' && mark.startsWith('graphql:'))
  );
}

/** The method that instances of a class have under a name, if `@UseLock` stands on it. */
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
