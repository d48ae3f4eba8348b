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

/** The metadata of a resolver: the type of GraphQL whose field it resolves. */
const GRAPHQL_TYPE = 'graphql:resolver_type';
/** The types around whose fields interceptors run. */
const GRAPHQL_ROOTS: ReadonlySet<unknown> = new Set(['Query', 'Mutation', 'Subscription']);

/** What Nest calls a method as: `field` is one of another type of GraphQL. */
export type HandlerKind = 'handler' | 'field' | 'none';

/**
 * What Nest may call a method of a class as. Handlers have many kinds of metadata (a route, a pattern, a message, a field,
 * those of other transports), so all metadata counts unless it is known not to. A resolver may have its type on the class.
 */
export function handlerKind(type: object, method: object): HandlerKind {
  const marks = Reflect.getOwnMetadataKeys(method).filter(
    (mark: unknown) => typeof mark !== 'string' || !NOT_OF_HANDLERS.test(mark),
  );
  const resolved: unknown = Reflect.getMetadata(GRAPHQL_TYPE, method) ?? Reflect.getMetadata(GRAPHQL_TYPE, type);
  if (GRAPHQL_ROOTS.has(resolved)) return 'handler';
  if (marks.some((mark) => String(mark).startsWith('graphql:'))) return 'field';
  return marks.length > 0 ? 'handler' : 'none';
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
