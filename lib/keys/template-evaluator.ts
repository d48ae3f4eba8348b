import { types } from 'node:util';
import { LockKeyError } from '../errors/index.js';
import { describe, oneLine } from '../common/describe.js';
import { encodeValue, refusal } from './lock-key.js';
import { readComputed, readProperty, type PropertyFault } from './property-access.js';
import type { Binary, Conditional, Expression, Interpolation, Path, Step, SyntaxFault } from './template-ast.js';
import { hasDefault, readerFor } from './template-names.js';
import type { LockedCall, TemplateSite } from './template-site.js';

/** What the evaluator needs of the template. */
export interface EvaluatorContext {
  readonly template: string;
  readonly site: TemplateSite;
  readonly syntaxFault: SyntaxFault;
  /** Throws a `LockKeyError`. */
  fault(problem: string, cause?: unknown): never;
}

/** Computes the value of an expression: the data itself, or a `Text` that contains words of the template. */
type Evaluate = (call: LockedCall) => unknown;

/**
 * Text of the template stays as it is in the key, and data is encoded: in `'a:' + #b`, only `#b`. So an expression carries both
 * forms; comparisons and indexes use `raw`.
 */
class Text {
  readonly #isText = true;

  constructor(
    readonly raw: string,
    readonly encoded: string,
  ) {}

  /** A brand check: `instanceof` could run code of a Proxy among the arguments. */
  static is(value: unknown): value is Text {
    return typeof value === 'object' && value !== null && #isText in value;
  }
}

const rawOf = (value: unknown): unknown => (Text.is(value) ? value.raw : value);

/** Compiles `#name.path` or `#{…}` to a function that returns its encoded part of a key. */
export function compileInterpolation(
  { expression, bare }: Interpolation,
  context: EvaluatorContext,
): (call: LockedCall) => string {
  const evaluate = expression.kind === 'path' ? compilePath(expression, context, bare) : compile(expression, context);
  return (call) => {
    try {
      const value = evaluate(call);
      const encoded = encodeValue(value) ?? encodeText(value, expression, context);
      return encoded || context.fault(`${sourceOf(expression, context)} ${refusal('')}`);
    } catch (error) {
      // Check it without running code of an error that a Proxy has made.
      if (types.isNativeError(error) && error instanceof LockKeyError) throw error;
      return context.fault(`${sourceOf(expression, context)} could not be read`, error);
    }
  };
}

function compile(expression: Expression, context: EvaluatorContext): Evaluate {
  switch (expression.kind) {
    case 'literal': {
      const { value } = expression;
      const constant = typeof value === 'string' ? new Text(value, value) : value;
      return () => constant;
    }
    case 'reference':
      return readerFor(expression, undefined, context);
    case 'path':
      return compilePath(expression, context, false);
    case 'conditional':
      return compileConditional(expression, context);
    default:
      return compileBinary(expression, context);
  }
}

/** Truthy as in JavaScript. */
function compileConditional(expression: Conditional, context: EvaluatorContext): Evaluate {
  const test = compile(expression.test, context);
  const yes = compile(expression.yes, context);
  const no = compile(expression.no, context);
  return (call) => (rawOf(test(call)) ? yes(call) : no(call));
}

function compileBinary(expression: Binary, context: EvaluatorContext): Evaluate {
  const left = compile(expression.left, context);
  const right = compile(expression.right, context);
  switch (expression.kind) {
    case '?:':
      return (call) => {
        const value = left(call);
        return [undefined, null, ''].includes(rawOf(value) as '') ? right(call) : value;
      };
    case '==':
      return (call) => areEqual(left(call), right(call));
    case '!=':
      return (call) => !areEqual(left(call), right(call));
    case '+':
      return compileSum(expression, left, right, context);
  }
}

/** Strict equality, except that `null` equals `undefined`. */
const areEqual = (a: unknown, b: unknown): boolean => (rawOf(a) ?? null) === (rawOf(b) ?? null);

/** The form in a key of what `encodeValue` does not encode: a text of the template, which may be empty. */
function encodeText(value: unknown, expression: Expression, context: EvaluatorContext): string {
  if (Text.is(value)) return value.encoded;
  return context.fault(`${sourceOf(expression, context)} ${refusalOf(value, expression, context)}`);
}

/** Adds two numbers, and concatenates everything else. */
function compileSum(expression: Binary, left: Evaluate, right: Evaluate, context: EvaluatorContext): Evaluate {
  const encode = (value: unknown, part: Expression): string => encodeValue(value) ?? encodeText(value, part, context);
  return (call) => {
    const a = left(call);
    const b = right(call);
    if (typeof a === 'number' && typeof b === 'number') return a + b;
    if (typeof a === 'bigint' && typeof b === 'bigint') return a + b;
    // Before `String`, which would run code of a value that a key cannot contain.
    const encoded = encode(a, expression.left) + encode(b, expression.right);
    return new Text(String(rawOf(a)) + String(rawOf(b)), encoded);
  };
}

/** Follows a parameter that is `undefined` and has a default value. */
const UNSEEN_DEFAULT =
  "; the key is made before the method runs, so it does not see the default of the parameter: write '?:' with the default " +
  'behind it, such as #{#size ?: 10}';

/** As `refusal`, with what to write if the parameter has a default value. */
function refusalOf(value: unknown, expression: Expression, context: EvaluatorContext): string {
  const head = expression.kind === 'path' && expression.steps.length === 0 ? expression.head : expression;
  const isDefaulted = value === undefined && head.kind === 'reference' && hasDefault(head, context.site);
  return isDefaulted ? `is undefined${UNSEEN_DEFAULT}` : refusal(value);
}

const REMEDY = ": write '?.' where that may be, and '?:' with what to take instead";

/** @param bare whether the path stands in text, so that its end may have been meant as text */
function compilePath(path: Path, context: EvaluatorContext, bare: boolean): Evaluate {
  const { start } = path.head;
  const head =
    path.head.kind === 'reference' ? readerFor(path.head, path.steps[0], context) : compile(path.head, context);
  const isDefaulted = path.head.kind === 'reference' && hasDefault(path.head, context.site);
  const sourceUpTo = (end: number): string => sourceOf({ start, end }, context);
  /** What to write if a step was not meant as a property; empty if it can be nothing else. */
  const textHint = (step: Step, container: unknown): string => {
    if (!bare || encodeValue(container) === undefined) return '';
    const rest = context.template.slice(step.start, path.end);
    return `; if '${rest}' is text, write #{${sourceUpTo(step.start)}}${rest}`;
  };
  const steps = path.steps.map((step) => {
    const { key } = step;
    const fault: PropertyFault = (problem, container) =>
      context.fault(`${sourceUpTo(step.end)} ${problem}${textHint(step, container)}`);
    if (typeof key === 'string') return { step, read: (container: unknown) => readProperty(container, key, fault) };
    const index = compile(key, context);
    return { step, read: (from: unknown, call: LockedCall) => readComputed(from, rawOf(index(call)), fault) };
  });
  return (call) => {
    let value = rawOf(head(call));
    let hint = '';
    for (const { step, read } of steps) {
      if (value === undefined || value === null) {
        if (step.optional) return undefined;
        const remedy = isDefaulted && value === undefined && step === path.steps[0] ? UNSEEN_DEFAULT : REMEDY;
        const what = `${sourceUpTo(step.start)} is ${describe(value)}`;
        context.fault(`${what}, so ${sourceUpTo(step.end)} cannot be read${hint || remedy}`);
      }
      hint ||= textHint(step, value);
      value = read(value, call);
    }
    if (value === undefined && hint !== '') context.fault(`${sourceUpTo(path.end)} ${refusal(value)}${hint}`);
    return value;
  };
}

const sourceOf = ({ start, end }: Pick<Expression, 'start' | 'end'>, { template }: EvaluatorContext): string =>
  oneLine(template.slice(start, end));
