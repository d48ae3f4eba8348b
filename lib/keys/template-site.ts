import type { ParameterNames } from './parameter-names.js';

/** The place of a template: the names that it can use, and the name of the place in errors. */
export interface TemplateSite {
  readonly className: string;
  readonly methodName: string;
  /** The parameters of the method; for an interceptor none (`{ names: [] }`), since it runs before there are arguments. */
  readonly parameters: ParameterNames;
  /** Whether the template is resolved from a request: `#params`, `#query`, `#body`, `#headers`, `#user`, `#data`. */
  readonly request?: boolean;
}

/** The names that a template can use for a request. */
export const REQUEST_NAMES = ['params', 'query', 'body', 'headers', 'user', 'data'] as const;

/** What a template may read of a request. Names of `headers` are in lower case; `data` is the payload of a message. */
export type RequestScope = Readonly<Record<(typeof REQUEST_NAMES)[number], unknown>>;

/** The call for which a key is resolved. */
export interface LockedCall {
  /** The instance, which is `#this`; the interceptor does not know it. */
  readonly self?: unknown;
  /** The arguments of the method, and of functions among the options. */
  readonly args: readonly unknown[];
  /** The source of `#params`, `#body` and the other request names. */
  readonly request?: RequestScope;
  /** The class of the handler; otherwise the instance has it. */
  readonly type?: unknown;
}

/** The name of the class of the instance of a call, which may inherit the method. */
export function classNameOf(
  { self, type = (self as object | null | undefined)?.constructor }: LockedCall,
  { className }: TemplateSite,
): string {
  // A class can have a static property with this name.
  const name: unknown = typeof type === 'function' && type !== Object ? type.name : undefined;
  return typeof name === 'string' && name !== '' ? name : className;
}
