import type { SyntaxFault } from './template-lexer.js';
import { classNameOf, REQUEST_NAMES, type LockedCall, type TemplateSite } from './template-site.js';

/** Returns a value of a call. */
export type Reader = (call: LockedCall) => unknown;

/** What a `#name` stands for. */
export interface NamedValue {
  readonly read: Reader;
  /** Whether it is a parameter with a default value. A key is made before the call, so it does not see that. */
  readonly isDefaulted?: boolean;
  /** What is wrong with the property that is read of it first, if any. */
  readonly wrongStep?: (key: unknown) => string | undefined;
}

const POSITION = /^[pa](\d{1,3})$/;
const USE_POSITION = 'write #p0 for the first argument, or give a function as key';

/** Resolves a `#name`, which stands at `start`, before the first call. Parameters take precedence. */
export function namedValue(name: string, start: number, site: TemplateSite, fault: SyntaxFault): NamedValue {
  const names = namesOf(site);
  const parameter = names.lastIndexOf(name); // of two parameters with one name the last one counts, as in JavaScript
  const isRest = parameter === names.length - 1 && 'rest' in site.parameters && site.parameters.rest;
  if (parameter >= 0) return isRest ? { read: ({ args }) => args.slice(parameter) } : argument(parameter, site);
  if (site.request && isRequestName(name)) {
    const read: Reader = ({ request }) => request?.[name];
    return name === 'headers' ? { read, wrongStep: wrongHeader } : { read };
  }
  if (name === 'root') {
    const { methodName } = site;
    return { read: (call) => ({ methodName, className: classNameOf(call, site) }), wrongStep: wrongOfRoot };
  }
  if (name === 'this' && isCall(site)) return { read: ({ self }) => self };
  if (name === 'args' && isCall(site)) return { read: ({ args }) => args };
  const [, position] = POSITION.exec(name) ?? [];
  if (position === undefined || !isCall(site)) return fault(start, unknownName(name, site));
  const beyond = beyondParameters(Number(position), site);
  return beyond === undefined ? argument(Number(position), site) : fault(start, beyond);
}

const argument = (position: number, { parameters }: TemplateSite): NamedValue => ({
  read: ({ args }) => args[position],
  isDefaulted: 'names' in parameters && !!parameters.defaults?.includes(position),
});

const wrongHeader = (key: unknown): string | undefined =>
  typeof key === 'string' && key !== key.toLowerCase()
    ? `header names are in lower case here: write #headers['${key.toLowerCase()}']`
    : undefined;

/** It has two properties, as in Spring. */
const wrongOfRoot = (key: unknown): string | undefined =>
  key === 'methodName' || key === 'className' ? undefined : 'of #root there are #root.methodName and #root.className';

/** Says that there is no such name, which names there are, and what to write. */
function unknownName(name: string, site: TemplateSite): string {
  const known = [...(site.request ? REQUEST_NAMES : []), ...namesOf(site).filter((known) => known !== undefined)];
  if (isCall(site)) known.push('p0', 'args', 'this');
  const list = [...new Set([...known, 'root'])].map((known) => `#${known}`).join(', ');
  return `there is no #${name} here, but ${list}; ${adviceFor(name, site)}`;
}

function adviceFor(name: string, site: TemplateSite): string {
  if (!isCall(site)) return 'an interceptor runs before there are arguments, so write a name of the request';
  if ('unreadable' in site.parameters) {
    return `parameter names cannot be read (${site.parameters.unreadable}): ${USE_POSITION}`;
  }
  if (isRequestName(name)) return `#${name} is for handlers with @UseLock: ${USE_POSITION}`;
  const glued = site.parameters.names.find((known) => known !== undefined && name.startsWith(`${known}_`));
  if (glued !== undefined) return `for text right behind a name write #{#${glued}}${name.slice(glued.length)}`;
  const destructured = site.parameters.names.indexOf(undefined);
  if (destructured !== -1) {
    return `parameter ${destructured} is destructured and has no name of its own: write #p${destructured}.${name} for what is in it`;
  }
  return `compilers lose parameter names for targets below ES2017, minifiers and bundlers rename them, and wrappers of other decorators hide them: ${USE_POSITION}`;
}

/** Why there is no argument at this position; `undefined`: there may be one. */
function beyondParameters(index: number, { parameters }: TemplateSite): string | undefined {
  if ('unreadable' in parameters || parameters.rest || parameters.usesArguments) return undefined;
  const count = parameters.names.length;
  if (index < count) return undefined;
  if (count === 0) return 'the method has no parameters';
  return `the method has ${count === 1 ? 'one parameter, #p0' : `${count} parameters, #p0 to #p${count - 1}`}`;
}

/** Whether braces around a name can only be meant as a template of another kind. */
export const isNameOfValue = (name: string, site: TemplateSite): boolean =>
  namesOf(site).includes(name) || (site.request === true && isRequestName(name));

/** Whether the template is resolved from a method call, not only from a request. */
const isCall = (site: TemplateSite): boolean => !site.request || namesOf(site).length > 0;

const isRequestName = (name: string): name is (typeof REQUEST_NAMES)[number] =>
  (REQUEST_NAMES as readonly string[]).includes(name);

const namesOf = ({ parameters }: TemplateSite): readonly (string | undefined)[] =>
  'names' in parameters ? parameters.names : [];
