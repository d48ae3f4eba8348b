import { LockKeyError } from '../errors/index.js';
import { describe, oneLine, printable, quote } from '../common/describe.js';
import { keyFault } from './lock-key.js';
import { isNameOfValue, namedValue } from './template-names.js';
import { parseTemplate, type TemplatePart } from './template-parser.js';
import type { LockedCall, TemplateSite } from './template-site.js';

/** Far more than a key of 512 bytes needs. */
const MAX_TEMPLATE_LENGTH = 1024;

/**
 * Compiles a template such as `stock:#{#order.sku}`, once for each class, to a function that builds the key of one call. Finds
 * every error that does not depend on a call, so that an application with a wrong template does not start.
 * @throws LockKeyError, which says where the template is wrong and what to write instead. The function throws one if a key
 *   cannot contain a value, or if the key as a whole cannot be used
 */
export function compileKeyTemplate(template: string, site: TemplateSite): (call: LockedCall) => string {
  const method = `${site.className}.${site.methodName}`;
  const place = oneLine(method);
  if (typeof template !== 'string' || template === '' || template.length > MAX_TEMPLATE_LENGTH) {
    throw new LockKeyError(
      `The key template of ${place} is ${describe(template)}; it must be a string of 1 to ${MAX_TEMPLATE_LENGTH} characters.`,
      { method },
    );
  }
  const fail = (where: string, problem: string, cause?: unknown): never => {
    throw new LockKeyError(`Key template ${quote(template)} of ${place}${where}: ${printable(problem)}.`, {
      method,
      cause,
    });
  };
  const fault = (problem: string, cause?: unknown): never => fail('', problem, cause);
  const syntaxFault = (at: number, problem: string): never =>
    fail(at < template.length ? `, at ${at + 1}, ${quote(template.slice(at))}` : ', at its end', problem);

  const parts = parseTemplate(template, {
    ...{ fault, syntaxFault },
    resolve: (name, start) => namedValue(name, start, site, syntaxFault),
    isValue: (name) => isNameOfValue(name, site),
  });
  const knownFault = keyFault(skeleton(parts));
  if (knownFault !== undefined) fault(`its key ${knownFault}`);

  return function resolve(call) {
    let key = '';
    for (const part of parts) key += typeof part === 'string' ? part : part.encode(call);
    const wrong = keyFault(key);
    return wrong === undefined ? key : fault(`its key ${quote(key)} ${wrong}`);
  };
}

/**
 * The shortest key of the template, for a check before the first call. Encoded values contain no braces. The value of an
 * expression with braces in its strings is not known yet.
 */
function skeleton(parts: readonly TemplatePart[]): string {
  const unknown = parts.some((part) => typeof part !== 'string' && /[{}]/.test(part.source.slice(2, -1)));
  const key = parts.map((part) => (typeof part === 'string' ? part : 'x')).join('');
  return unknown ? key.replace(/[{}]/g, 'x') : key;
}
