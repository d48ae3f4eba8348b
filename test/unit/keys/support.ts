import { LockKeyError } from '../../../lib/errors/index.js';
import {
  compileKeyTemplate,
  type LockedCall,
  type ParameterNames,
  type TemplateSite,
} from '../../../lib/keys/index.js';

export const site = (...names: (string | undefined)[]): TemplateSite => at({ names });

export const at = (parameters: ParameterNames, more: Partial<TemplateSite> = {}): TemplateSite => ({
  className: 'StockService',
  methodName: 'reserve',
  parameters,
  ...more,
});

/** Resolves a template over one parameter `order` (and `b`, `c`). */
export const resolve = (template: string, ...args: unknown[]): string =>
  compileKeyTemplate(template, site('order', 'b', 'c'))({ args, self: undefined });

export const resolveIn = (template: string, where: TemplateSite, scope: Partial<LockedCall>): string =>
  compileKeyTemplate(template, where)({ args: [], self: undefined, ...scope });

/** A Proxy whose trap throws. */
export function throwing(trap: 'getPrototypeOf' | 'getOwnPropertyDescriptor', cause: unknown): object {
  const fail = (): never => {
    throw cause;
  };
  return new Proxy({}, { [trap]: fail });
}

/** The message of the `LockKeyError` that `run` throws; anything else fails the test. */
export function refusalOf(run: () => unknown): string {
  try {
    const result = run();
    throw new Error(`expected a LockKeyError, got ${String(result)}`);
  } catch (error) {
    if (!(error instanceof LockKeyError)) throw error;
    if (/[\n\r\u2028\u2029]/.test(error.message))
      throw new Error(`more than one line: ${JSON.stringify(error.message)}`);
    return error.message;
  }
}
