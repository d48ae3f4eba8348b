import type { ParameterNames } from './parameter-names.js';

/** Where a template is written: what it can refer to, and what its errors name. */
export interface TemplateSite {
  readonly className: string;
  readonly methodName: string;
  /** The method's parameters; behind an interceptor none (`{ names: [] }`), since it runs before there are arguments. */
  readonly parameters: ParameterNames;
  /** Whether the template is resolved from a request: `#params`, `#query`, `#body`, `#headers`, `#user`, `#data`. */
  readonly request?: boolean;
}

/** The names that a request gives to a template. */
export const REQUEST_NAMES = ['params', 'query', 'body', 'headers', 'user', 'data'] as const;

/** What a template may read of a request; `headers` with names in lower case, `data` the payload of a message. */
export type RequestScope = Readonly<Record<(typeof REQUEST_NAMES)[number], unknown>>;

/** The call for which a key is resolved. */
export interface TemplateScope {
  readonly args: readonly unknown[];
  /** The instance, which is `#this`. */
  readonly self: unknown;
  readonly request?: RequestScope;
}
