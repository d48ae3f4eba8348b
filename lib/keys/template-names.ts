import type { Reference, Step, SyntaxFault } from './template-ast.js';
import { classNameOf, REQUEST_NAMES, type LockedCall, type TemplateSite } from './template-site.js';

/** Returns the value of `#name`. */
export type Reader = (call: LockedCall) => unknown;

/** The properties of `#root`, as in Spring. */
const ROOT_PROPERTIES: readonly unknown[] = ['methodName', 'className'];

/** What a `#name` stands for. */
interface Meaning {
  readonly kind: 'argument' | 'request' | 'root';
  readonly read: Reader;
  /** Of one argument, or of the first one of a rest parameter. */
  readonly position?: number;
}

const POSITION = /^[pa](\d{1,3})$/;
const USE_POSITION = 'write #p0 for the first argument, or give a function as key';

/**
 * Resolves a `#name` before the first call.
 * @param first the property that is read of it, if any
 */
export function readerFor(
  { name, start }: Reference,
  first: Step | undefined,
  { site, syntaxFault: fault }: { readonly site: TemplateSite; readonly syntaxFault: SyntaxFault },
): Reader {
  const meaning = meaningOf(name, site);
  if (meaning === undefined) return fault(start, unknownName(name, site));
  const { kind, read, position } = meaning;
  const beyond = position === undefined ? undefined : beyondParameters(position, site);
  if (beyond !== undefined) return fault(start, beyond);
  if (kind === 'root' && !ROOT_PROPERTIES.includes(first?.key)) {
    return fault(first?.start ?? start, 'of #root there are #root.methodName and #root.className');
  }
  if (
    kind === 'request' &&
    name === 'headers' &&
    typeof first?.key === 'string' &&
    first.key !== first.key.toLowerCase()
  ) {
    return fault(first.start, `header names are in lower case here: write #headers['${first.key.toLowerCase()}']`);
  }
  return read;
}

/** Whether a name stands for a parameter with a default value. A key is made before the call, so it does not see that. */
export function hasDefault({ name }: Reference, site: TemplateSite): boolean {
  const { position } = meaningOf(name, site) ?? {};
  return position !== undefined && 'names' in site.parameters && !!site.parameters.defaults?.includes(position);
}

/** The meaning of a name at this site; parameters take precedence. */
function meaningOf(name: string, site: TemplateSite): Meaning | undefined {
  const parameter = namesOf(site).lastIndexOf(name); // of two parameters with one name the last one counts, as in JavaScript
  if (parameter >= 0) return parameterMeaning(parameter, site);
  if (site.request && isRequestName(name)) return { kind: 'request', read: ({ request }) => request?.[name] };
  if (name === 'root') {
    const { methodName } = site;
    return { kind: 'root', read: (call) => ({ methodName, className: classNameOf(call, site) }) };
  }
  if (!isCall(site)) return undefined;
  if (name === 'this') return { kind: 'argument', read: ({ self }) => self };
  if (name === 'args') return { kind: 'argument', read: ({ args }) => args };
  const [, position] = POSITION.exec(name) ?? [];
  return position === undefined ? undefined : argument(Number(position));
}

const argument = (position: number): Meaning => ({ kind: 'argument', position, read: ({ args }) => args[position] });

function parameterMeaning(position: number, { parameters }: TemplateSite): Meaning {
  const isRest = 'names' in parameters && parameters.rest && position === parameters.names.length - 1;
  return isRest ? { kind: 'argument', position, read: ({ args }) => args.slice(position) } : argument(position);
}

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
