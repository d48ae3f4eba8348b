import type { LockDeclaration } from '../decorators/lock-declaration.js';

/** A string, so that two loaded copies of this package read each other's. */
const LOCKS = 'nestjs-redis-locks:use-lock';

/** The locks that were declared on a handler, the outermost first. */
export const declaredLocks = (handler: object): readonly LockDeclaration[] =>
  (Reflect.getOwnMetadata(LOCKS, handler) as LockDeclaration[] | undefined) ?? [];

export const setDeclaredLocks = (handler: object, locks: readonly LockDeclaration[]): void =>
  Reflect.defineMetadata(LOCKS, locks, handler);

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

/** The method that instances of a class have under a name, and the prototype that has it. */
export function methodOf(type: unknown, name: string | symbol): { readonly owner?: object; readonly method?: object } {
  let owner: unknown = typeof type === 'function' ? type.prototype : undefined;
  while (typeof owner === 'object' && owner !== null && !Object.hasOwn(owner, name))
    owner = Object.getPrototypeOf(owner);
  const method: unknown = Object.getOwnPropertyDescriptor(owner ?? {}, name)?.value;
  return typeof method === 'function' ? { owner: owner as object, method } : {};
}

/** The method that instances of a class have under a name, if it has `@UseLock`. */
export function lockedHandler(type: unknown, name: string | symbol): object | undefined {
  const { method } = methodOf(type, name);
  return method !== undefined && declaredLocks(method).length > 0 ? method : undefined;
}
