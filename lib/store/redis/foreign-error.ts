import { messageOf } from '../../common/describe.js';
import { isError } from '../../common/type-guards.js';
import { isLockError } from '../../errors/index.js';
import { withoutCredentials } from './credentials.js';

/** The fields of an error that may be shown besides its message: the target of a connection, and how it failed. */
const FIELDS = ['code', 'errno', 'syscall', 'address', 'port', 'hostname', 'path', 'reason', 'library'] as const;

/** Nested errors beyond this depth are left out. */
const DEEPEST = 4;

type Foreign = Error & {
  readonly command?: { readonly name?: unknown; readonly args?: unknown };
  readonly errors?: unknown;
  readonly lastNodeError?: unknown;
} & Partial<Record<(typeof FIELDS)[number], unknown>>;

/** The copies made so far. Promises that reject with one error also share its copy. */
const copies = new WeakMap<Error, Error>();

/**
 * Copies an error of ioredis, Redis or Node so that it can be logged. The copy has its name, message, stack, code and
 * address, and the name of the command. It leaves out the arguments of the command: those of AUTH and HELLO are the
 * password.
 */
export function foreignError(error: unknown, depth = 0): Error {
  try {
    if (!isError(error)) return new Error(withoutCredentials(String(error)));
    if (isLockError(error)) return error;
    const copy = copies.get(error) ?? copyOf(error, depth);
    if (depth === 0) copies.set(error, copy).set(copy, copy);
    return copy;
  } catch {
    // An error whose properties throw is still reported as an error.
    return new Error('an error that cannot be read');
  }
}

function copyOf(error: Foreign, depth: number): Error {
  const secrets = secretArguments(error);
  const clean = (text: string): string => withoutValue(withoutCredentials(text, secrets), error.code);
  const inner = depth < DEEPEST ? (error.cause ?? error.lastNodeError) : undefined;
  const errors = depth < DEEPEST && Array.isArray(error.errors) ? (error.errors as unknown[]) : undefined;
  const options = inner === undefined || inner === null ? undefined : { cause: foreignError(inner, depth + 1) };
  const message = clean(messageOf(error));
  const copy = errors
    ? new AggregateError(
        errors.map((each) => foreignError(each, depth + 1)),
        message,
        options,
      )
    : new Error(message, options);
  // Not enumerable, as in an Error.
  const hidden = (value: string): PropertyDescriptor => ({ value, writable: true, configurable: true });
  Object.defineProperties(copy, { name: hidden(error.name), stack: hidden(stackOf(error, message, clean)) });
  for (const field of FIELDS) {
    const value = error[field];
    if (typeof value === 'string') Object.assign(copy, { [field]: clean(value) });
    else if (typeof value === 'number') Object.assign(copy, { [field]: value });
  }
  const command = error.command?.name;
  if (typeof command === 'string') Object.assign(copy, { command: { name: command } });
  return copy;
}

/** The lines of the stack, below the cleaned message. Each error is recognized by the beginning of its message. */
function stackOf({ message: original, stack }: Error, message: string, clean: (text: string) => string): string {
  const lines = String(stack);
  const at = original === '' ? -1 : lines.indexOf(original);
  return at < 0 ? clean(lines) : lines.slice(0, at) + message + clean(lines.slice(at + original.length));
}

/** The password that a command sent, from any client. The server may have repeated it. */
function secretArguments({ command }: Foreign): string[] {
  const args: unknown[] = Array.isArray(command?.args) ? command.args : [];
  const name = String(command?.name).toLowerCase();
  const auth = args.findIndex((each) => String(each).toLowerCase() === 'auth');
  const secret = name === 'auth' ? args.at(-1) : name === 'hello' && auth >= 0 ? args[auth + 2] : undefined;
  return typeof secret === 'string' && secret !== '' ? [secret] : [];
}

/** Node shows the invalid value in its message, which may be a passphrase. */
const withoutValue = (text: string, code: unknown): string =>
  typeof code === 'string' && code.startsWith('ERR_INVALID_ARG_')
    ? text.replace(/\bReceived .*/g, 'Received ***')
    : text;
