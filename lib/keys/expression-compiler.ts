import { types } from 'node:util';
import { describe, oneLine } from '../common/describe.js';
import { LockKeyError } from '../errors/index.js';
import { encodeValue, refusal } from './lock-key.js';
import { FORBIDDEN, readComputed, readProperty, type PropertyFault } from './property-access.js';
import type { Lexer, Token } from './template-lexer.js';
import type { NamedValue, Reader } from './template-names.js';
import type { LockedCall } from './template-site.js';

/** The deepest nesting. It keeps a template from exhausting the stack. */
const MAX_DEPTH = 100;

const NO_CALLS =
  'a template calls nothing: give a function as key, such as (order) => lockKey`stock:${order.sku.trim()}`';
const NO_ARITHMETIC = "of all operators there are only '+', '==', '!=', '?:' and 'a ? b : c': give a function as key";

/** What to write instead of the syntax of other languages. */
const INSTEAD: Readonly<Record<string, string>> = {
  '??': "write '?:', which applies to null, undefined and ''",
  '||': "write '?:', which applies to null, undefined and ''",
  '&&': "write 'a ? b : c', or give a function as key",
  '===': "write '==', which compares strictly",
  '!==': "write '!=', which compares strictly",
  '=': "nothing is assigned here: write '==' to compare",
  '!': "write '!=', or '== false'",
  '`': 'write a string in quotes: \'…\' or "…"',
  '(': NO_CALLS,
  new: 'a template constructs nothing: give a function as key',
  T: 'a template knows no types: give a function as key',
  eq: "write '=='",
  ne: "write '!='",
  and: "write 'a ? b : c', or give a function as key",
  or: "write '?:', or give a function as key",
  not: "write '!=', or '== false'",
  undefined: "write 'null', which equals undefined here",
  this: 'write #this.property',
};

const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** The position of something in the template. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** One property of a path; `end` is where the path up to this property ends in the template. */
interface Step extends Span {
  readonly key: string | Expression;
  readonly optional: boolean;
}

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

/** An expression, compiled to a function. */
export interface Expression extends Span {
  /** Computes the value: the data itself, or a `Text` that contains words of the template. */
  readonly evaluate: Reader;
  /** The value of `'text'`, `42`, `true` and `null`. */
  readonly constant?: string | number | boolean | null;
  /** Of `#name`: what it stands for. */
  readonly name?: NamedValue;
}

/** What an expression needs of its template. */
export interface ExpressionContext {
  /** Resolves `#name`, which stands at `start`. */
  readonly resolve: (name: string, start: number) => NamedValue;
  /** Throws a `LockKeyError`. */
  readonly fault: (problem: string, cause?: unknown) => never;
}

/**
 * Compiles one expression and stops where it ends; the caller checks what follows. From loose to tight binding:
 *
 *     expression := equality [ '?:' expression | '?' expression ':' expression ]
 *     equality   := sum [ ('==' | '!=') sum ]
 *     sum        := path { '+' path }
 *     path       := primary { '.' name | '?.' name | [ '?.' ] '[' expression ']' }
 *     primary    := '#' name | string | [ '-' ] number | 'true' | 'false' | 'null' | '(' expression ')'
 */
export class ExpressionCompiler {
  #depth = 0;

  constructor(
    private readonly lexer: Lexer,
    private readonly context: ExpressionContext,
    /** Whether the expression stands in text, so that its end may have been meant as text. */
    private readonly isBare = false,
  ) {}

  /** Compiles the whole to a function that returns its encoded part of a key. */
  encoder(): (call: LockedCall) => string {
    const expression = this.expression();
    return (call) => {
      try {
        const value = expression.evaluate(call);
        return (encodeValue(value) ?? this.#wordsOf(value, expression)) || this.#fault(expression, refusal(''));
      } catch (error) {
        // Check it without running code of an error that a Proxy has made.
        if (types.isNativeError(error) && error instanceof LockKeyError) throw error;
        return this.#fault(expression, 'could not be read', error);
      }
    };
  }

  expression(): Expression {
    if (++this.#depth > MAX_DEPTH) {
      this.lexer.fault(this.lexer.peek().start, `more than ${MAX_DEPTH} levels of nesting: give a function as key`);
    }
    const expression = this.#choice();
    this.#depth--;
    return expression;
  }

  /** Fails at an unexpected token, and says what to write instead. */
  unexpected(token: Token): never {
    const { type, text, start, end } = token;
    if (type === 'end') return this.lexer.fault(start, "the template ends within '#{': close it with '}'");
    const source = this.lexer.source.slice(start, end);
    const instead =
      type === 'symbol' || type === 'word' ? this.#instead(type, text) : 'an operator is missing before it';
    return this.lexer.fault(start, `unexpected '${source}': ${instead}`);
  }

  #instead(type: 'symbol' | 'word', text: string): string {
    if (Object.hasOwn(INSTEAD, text)) return INSTEAD[text] as string;
    if (type === 'word') return `write #${text} for a parameter, '${text}' in quotes for text`;
    if (text === '#') return "'#' begins a name here: write #name without '#{'";
    if (/[-*/%<>^]/.test(text)) return NO_ARITHMETIC;
    return 'an expression is made of #names, strings, numbers and the operators in docs/templates.md';
  }

  #choice(): Expression {
    const left = this.#equality();
    const operator = this.lexer.takeSymbol('?:', '?');
    if (!operator) return left;
    const yes = this.expression();
    if (operator.text === '?:') {
      return joined(left, yes, (call) => {
        const value = left.evaluate(call);
        return [undefined, null, ''].includes(rawOf(value) as '') ? yes.evaluate(call) : value;
      });
    }
    this.#expect(':');
    const no = this.expression();
    // Truthy as in JavaScript.
    return joined(left, no, (call) => (rawOf(left.evaluate(call)) ? yes : no).evaluate(call));
  }

  /** Strict equality, except that `null` equals `undefined`. */
  #equality(): Expression {
    const left = this.#sum();
    const operator = this.lexer.takeSymbol('==', '!=');
    if (!operator) return left;
    const right = this.#sum();
    const isEqual = operator.text === '==';
    const read = (side: Expression, call: LockedCall): unknown => rawOf(side.evaluate(call)) ?? null;
    return joined(left, right, (call) => (read(left, call) === read(right, call)) === isEqual);
  }

  #sum(): Expression {
    let sum = this.#path();
    while (this.lexer.takeSymbol('+')) {
      const [left, right] = [sum, this.#path()];
      sum = joined(left, right, (call) => this.#add(left, right, call));
    }
    return sum;
  }

  /** Adds two numbers, and concatenates everything else. */
  #add(left: Expression, right: Expression, call: LockedCall): unknown {
    const a = left.evaluate(call);
    const b = right.evaluate(call);
    if (typeof a === 'number' && typeof b === 'number') return a + b;
    if (typeof a === 'bigint' && typeof b === 'bigint') return a + b;
    // Before `String`, which would run code of a value that a key cannot contain.
    const encode = (value: unknown, part: Expression): string => encodeValue(value) ?? this.#wordsOf(value, part);
    const encoded = encode(a, left) + encode(b, right);
    return new Text(String(rawOf(a)) + String(rawOf(b)), encoded);
  }

  #path(): Expression {
    const head = this.#primary();
    const steps: Step[] = [];
    for (let step = this.#step(); step; step = this.#step()) steps.push(step);
    const [first] = steps;
    const wrong = head.name?.wrongStep?.(first?.key);
    if (wrong !== undefined) this.lexer.fault((first ?? head).start, wrong);
    const last = steps.at(-1);
    return last === undefined ? head : joined(head, last, this.#follower(head, steps, last.end));
  }

  /** Follows the steps of a path, which ends at `end`. */
  #follower(head: Expression, steps: readonly Step[], end: number): Reader {
    const sourceUpTo = (end: number): string => this.#sourceOf({ start: head.start, end });
    /** What to write if a step was not meant as a property; empty if it can be nothing else. */
    const textHint = (step: Step, container: unknown): string => {
      if (!this.isBare || encodeValue(container) === undefined) return '';
      const rest = this.lexer.source.slice(step.start, end);
      return `; if '${rest}' is text, write #{${sourceUpTo(step.start)}}${rest}`;
    };
    const readers = steps.map((step) => {
      const { key } = step;
      const fault: PropertyFault = (problem, container) =>
        this.context.fault(`${sourceUpTo(step.end)} ${problem}${textHint(step, container)}`);
      const read = (from: unknown, call: LockedCall): unknown =>
        typeof key === 'string' ? readProperty(from, key, fault) : readComputed(from, rawOf(key.evaluate(call)), fault);
      return { step, read };
    });
    return (call) => {
      let value = rawOf(head.evaluate(call));
      let hint = '';
      for (const { step, read } of readers) {
        if (value === undefined || value === null) {
          if (step.optional) return undefined;
          const isDefaulted = head.name?.isDefaulted && value === undefined && step === steps[0];
          const what = `${sourceUpTo(step.start)} is ${describe(value)}, so ${sourceUpTo(step.end)} cannot be read`;
          this.context.fault(what + (hint || (isDefaulted ? UNSEEN_DEFAULT : REMEDY)));
        }
        hint ||= textHint(step, value);
        value = read(value, call);
      }
      if (value === undefined && hint !== '') this.context.fault(`${sourceUpTo(end)} ${refusal(value)}${hint}`);
      return value;
    };
  }

  #step(): Step | undefined {
    const operator = this.lexer.takeSymbol('.', '?.', '[', '(');
    if (!operator) return undefined;
    if (operator.text === '(') return this.unexpected(operator);
    const optional = operator.text === '?.';
    if (operator.text === '[') return this.#index(operator.start, false);
    if (optional && this.lexer.takeSymbol('[')) return this.#index(operator.start, true);

    const name = this.lexer.take();
    if (name.type !== 'word') {
      this.lexer.fault(
        name.start,
        `after '${operator.text}' the name of a property is expected, or ['…'] for other names`,
      );
    }
    this.#allow(name.text, name.start);
    return { key: name.text, optional, start: operator.start, end: name.end };
  }

  #index(start: number, optional: boolean): Step {
    const index = this.expression();
    const { end } = this.#expect(']');
    if (index.constant === undefined) return { key: index, optional, start, end };
    if (typeof index.constant !== 'string' && typeof index.constant !== 'number') {
      this.lexer.fault(index.start, 'an index is a string or a number');
    }
    const key = String(index.constant);
    this.#allow(key, index.start);
    return { key, optional, start, end };
  }

  #allow(name: string, at: number): void {
    if (FORBIDDEN.has(name)) this.lexer.fault(at, `'${name}' is never read, since it leads from data to code`);
  }

  #primary(): Expression {
    const token = this.lexer.take();
    const { start, end, text } = token;
    switch (token.type) {
      case 'reference': {
        const name = this.context.resolve(text, start);
        return { name, evaluate: name.read, start, end };
      }
      case 'string': {
        const words = new Text(text, text);
        return { constant: text, evaluate: () => words, start, end };
      }
      case 'number':
        return this.#number(token, start, 1);
      case 'word': {
        const constant = CONSTANTS.get(text);
        if (constant === undefined) return this.#unknownWord(token);
        return { constant, evaluate: () => constant, start, end };
      }
      default:
        return this.#bracketed(token);
    }
  }

  #bracketed(token: Token): Expression {
    if (token.type === 'symbol' && token.text === '(') {
      const inner = this.expression();
      return { ...inner, start: token.start, end: this.#expect(')').end };
    }
    if (token.type === 'symbol' && token.text === '-' && this.lexer.peek().type === 'number') {
      return this.#number(this.lexer.take(), token.start, -1);
    }
    if (token.type === 'symbol' && ['}', ')', ']', ':', '+', '?:', '?', '==', '!=', '.', '?.'].includes(token.text)) {
      return this.lexer.fault(token.start, `a value is missing before '${token.text}'`);
    }
    return this.unexpected(token);
  }

  #number(token: Token, start: number, sign: 1 | -1): Expression {
    const constant = sign * Number(token.text);
    if (Number.isInteger(constant) && !Number.isSafeInteger(constant)) {
      this.lexer.fault(start, `${token.text} is beyond what a number can hold exactly: write it in quotes`);
    }
    return { constant, evaluate: () => constant, start, end: token.end };
  }

  #unknownWord(word: Token): never {
    if (word.text !== 'T' && this.lexer.takeSymbol('(')) this.lexer.fault(word.start, `${word.text}(…): ${NO_CALLS}`);
    return this.unexpected(word);
  }

  #expect(symbol: string): Token {
    const expected = this.lexer.takeSymbol(symbol);
    if (expected) return expected;
    const token = this.lexer.peek();
    if (token.type === 'end' || (token.type === 'symbol' && token.text === '}')) {
      return this.lexer.fault(token.start, `'${symbol}' is missing here`);
    }
    return this.unexpected(token);
  }

  /** The form in a key of what `encodeValue` does not encode: a text of the template, which may be empty. */
  #wordsOf(value: unknown, expression: Expression): string {
    if (Text.is(value)) return value.encoded;
    const isDefaulted = value === undefined && expression.name?.isDefaulted;
    return this.#fault(expression, isDefaulted ? `is undefined${UNSEEN_DEFAULT}` : refusal(value));
  }

  #fault(expression: Expression, problem: string, cause?: unknown): never {
    return this.context.fault(`${this.#sourceOf(expression)} ${problem}`, cause);
  }

  #sourceOf({ start, end }: Span): string {
    return oneLine(this.lexer.source.slice(start, end));
  }
}

/** The expression from the start of one part to the end of another. */
const joined = ({ start }: Span, { end }: Span, evaluate: Reader): Expression => ({ evaluate, start, end });

/** Follows a parameter that is `undefined` and has a default value. */
const UNSEEN_DEFAULT =
  "; the key is made before the method runs, so it does not see the default of the parameter: write '?:' with the default " +
  'behind it, such as #{#size ?: 10}';

const REMEDY = ": write '?.' where that may be, and '?:' with what to take instead";
