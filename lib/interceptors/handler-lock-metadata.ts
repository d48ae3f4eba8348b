import type { LockDeclaration } from '../decorators/lock-declaration.js';

/** A string, so that two loaded copies of this package read each other's. */
const LOCKS = 'nestjs-redis-locks:use-lock';

/** The locks that were declared on a handler, the outermost first. */
export const declaredLocks = (handler: object): readonly LockDeclaration[] =>
  (Reflect.getOwnMetadata(LOCKS, handler) as LockDeclaration[] | undefined) ?? [];

export const setDeclaredLocks = (handler: object, locks: readonly LockDeclaration[]): void =>
  Reflect.defineMetadata(LOCKS, locks, handler);
