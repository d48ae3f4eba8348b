import type { Binary, Expression, Literal, Step } from './template-ast.js';
import { type Lexer, type Token } from './template-lexer.js';

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

/** Names that lead from data to code. */
export const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

/**
 * Reads one expression and stops where it ends; the caller checks what follows. From loose to tight binding:
 *
 *     expression := equality [ '?:' expression | '?' expression ':' expression ]
 *     equality   := sum [ ('==' | '!=') sum ]
 *     sum        := path { '+' path }
 *     path       := primary { '.' name | '?.' name | [ '?.' ] '[' expression ']' }
 *     primary    := '#' name | string | [ '-' ] number | 'true' | 'false' | 'null' | '(' expression ')'
 */
export class ExpressionParser {
  #depth = 0;

  constructor(private readonly lexer: Lexer) {}

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
    if (operator.text === '?:') return binary('?:', left, this.expression());
    const yes = this.expression();
    this.#expect(':');
    const no = this.expression();
    return { kind: 'conditional', test: left, yes, no, start: left.start, end: no.end };
  }

  #equality(): Expression {
    const left = this.#sum();
    const operator = this.lexer.takeSymbol('==', '!=');
    return operator ? binary(operator.text as '==' | '!=', left, this.#sum()) : left;
  }

  #sum(): Expression {
    let left = this.#path();
    while (this.lexer.takeSymbol('+')) left = binary('+', left, this.#path());
    return left;
  }

  #path(): Expression {
    const head = this.#primary();
    const steps: Step[] = [];
    for (let step = this.#step(); step; step = this.#step()) steps.push(step);
    const last = steps.at(-1);
    return last ? { kind: 'path', head, steps, start: head.start, end: last.end } : head;
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
    if (index.kind !== 'literal') return { key: index, optional, start, end };
    if (typeof index.value !== 'string' && typeof index.value !== 'number') {
      this.lexer.fault(index.start, 'an index is a string or a number');
    }
    const key = String(index.value);
    this.#allow(key, index.start);
    return { key, optional, start, end };
  }

  #allow(name: string, at: number): void {
    if (FORBIDDEN.has(name)) this.lexer.fault(at, `'${name}' is never read, since it leads from data to code`);
  }

  #primary(): Expression {
    const token = this.lexer.take();
    const { start, end } = token;
    switch (token.type) {
      case 'reference':
        return { kind: 'reference', name: token.text, start, end };
      case 'string':
        return { kind: 'literal', value: token.text, start, end };
      case 'number':
        return this.#number(token, start, 1);
      case 'word': {
        const value = CONSTANTS.get(token.text);
        if (value === undefined) return this.#unknownWord(token);
        return { kind: 'literal', value, start, end };
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

  #number(token: Token, start: number, sign: 1 | -1): Literal {
    const value = sign * Number(token.text);
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      this.lexer.fault(start, `${token.text} is beyond what a number can hold exactly: write it in quotes`);
    }
    return { kind: 'literal', value, start, end: token.end };
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
}

const binary = (kind: Binary['kind'], left: Expression, right: Expression): Binary => ({
  ...{ kind, left, right, start: left.start, end: right.end },
});
