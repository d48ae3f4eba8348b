import { ExpressionCompiler, type ExpressionContext } from './expression-compiler.js';
import { Lexer, NAME, type SyntaxFault } from './template-lexer.js';
import type { LockedCall } from './template-site.js';

/** The parts of a template in order: literal text and placeholders. */
export type TemplatePart = string | Placeholder;

/** `#name.path` or `#{ expression }`. */
interface Placeholder {
  /** The source text, braces included. */
  readonly source: string;
  /** Makes its part of the key of a call. */
  readonly encode: (call: LockedCall) => string;
}

/** `#name.path?.path` as it stands in text. */
const BARE = new RegExp(String.raw`#${NAME}(?:\??\.${NAME})*`, 'uy');

// Shows that the author meant an expression, as in Spring: "'stock:' + #order.id".
const OPERATOR_BEFORE = /(?:['"+]|\?[:?]|[=!]=|&&|\|\|)\s*$/;
const OPERATOR_AFTER = /^\s*(?:['"+]|\?[:?]|\?\s*['"]|[=!]=|&&|\|\|)/;

/** The placeholders of other template languages: `{{ name.path }}`, `{name.path}`. */
const FOREIGN = new RegExp(
  String.raw`(?<twice>\{\{)(?:\s*(?<inner>${NAME}(?:\.${NAME})*)\s*\}\})?|\{\s*(?<path>(?<head>${NAME})(?:\.${NAME})*)\s*\}`,
  'gu',
);

/** What the parts of a template share. */
export interface TemplateContext extends ExpressionContext {
  readonly syntaxFault: SyntaxFault;
  /** Whether a name stands for a value here, so that it is not meant as text in braces. */
  readonly isValue: (name: string) => boolean;
}

/** Splits a template into literal text, `##`, `#name.path` and `#{ expression }`. */
export function parseTemplate(template: string, context: TemplateContext): TemplatePart[] {
  const { syntaxFault: fault, isValue } = context;
  const parts: TemplatePart[] = [];
  let text = '';
  let position = 0;
  /** Where the text before the next reference begins. */
  let textStart = 0;

  while (position < template.length) {
    const hash = template.indexOf('#', position);
    const literal = template.slice(position, hash === -1 ? undefined : hash);
    const dollar = literal.indexOf('${');
    if (dollar !== -1) fault(position + dollar, "'${' would stay as it is: write '#{'");
    for (const { 0: found, index, groups = {} } of literal.matchAll(FOREIGN)) {
      const { twice, inner, head, path } = groups;
      if (twice === undefined && !isValue(head as string)) continue;
      fault(position + index, foreign(found, inner ?? path));
    }
    text += literal;
    if (hash === -1) break;
    if (template[hash + 1] === '#') {
      text += '#';
      position = hash + 2;
      continue;
    }
    const placeholder =
      template[hash + 1] === '{' ? braced(template, hash, context) : bare(template, hash, textStart, context);
    if (text !== '') parts.push(text);
    parts.push(placeholder);
    text = '';
    position = textStart = hash + placeholder.source.length;
  }
  if (text !== '') parts.push(text);
  return parts;
}

function foreign(found: string, path: string | undefined): string {
  if (found.startsWith('{{')) return `'${found}' would stay as it is: write #{#${path ?? 'name'}}`;
  return `'${found}' would stay as it is: write #{#${path}}, or #{'${found}'} where text in braces is meant`;
}

/** `#{ expression }` */
function braced(template: string, start: number, context: TemplateContext): Placeholder {
  const lexer = new Lexer(template, start + 2, context.syntaxFault);
  const compiler = new ExpressionCompiler(lexer, context);
  const encode = compiler.encoder();
  const { end } = lexer.takeSymbol('}') ?? compiler.unexpected(lexer.peek());
  return { source: template.slice(start, end), encode };
}

/** `#name.path` */
function bare(template: string, start: number, textStart: number, context: TemplateContext): Placeholder {
  const { syntaxFault: fault } = context;
  BARE.lastIndex = start;
  const [source] = BARE.exec(template) ?? [];
  if (source === undefined) {
    return fault(
      start,
      "a single '#' is no text: write ## for the character, #name for a parameter, #{…} for an expression",
    );
  }
  const end = start + source.length;
  const following = template[end] === '?' ? template.slice(end).replace(/^\?\./, '') : template.slice(end);
  if (following.startsWith('(')) {
    fault(
      end,
      "a call, which a template does not make: give a function as key, or write #{…} around the name before text in '('",
    );
  }
  const asExpression =
    following.startsWith('[') ||
    OPERATOR_BEFORE.test(template.slice(textStart, start)) ||
    OPERATOR_AFTER.test(template.slice(end));
  if (asExpression) {
    const instead = corrected(template, start, end);
    fault(start, `an operator, a quote or '[' beside ${source} is only read within #{…}: write ${instead}`);
  }

  const lexer = new Lexer(template.slice(0, end), start, fault);
  return { source, encode: new ExpressionCompiler(lexer, context, true).encoder() };
}

/**
 * What the author of `'stock:' + #order.id` meant: the whole text as one expression, otherwise as much as forms an expression
 * from the reference on, otherwise the reference alone.
 */
function corrected(template: string, start: number, end: number): string {
  if (expressionEnd(template, 0) === template.trimEnd().length) return `#{${template.trim()}}`;
  const expression = Math.max(expressionEnd(template, start), end);
  return `${template.slice(0, start)}#{${template.slice(start, expression)}}${template.slice(expression)}`;
}

/** Where the expression that begins here ends, whatever its names stand for; -1 if it is none. */
function expressionEnd(template: string, start: number): number {
  const fault = (): never => {
    throw new SyntaxError();
  };
  try {
    const lexer = new Lexer(template, start, fault);
    new ExpressionCompiler(lexer, { resolve: () => ({ read: fault }), fault }).expression();
    return lexer.takenEnd;
  } catch {
    return -1;
  }
}
