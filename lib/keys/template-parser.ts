import { ExpressionParser } from './expression-parser.js';
import type { Interpolation, SyntaxFault, TemplatePart } from './template-ast.js';
import { Lexer, NAME } from './template-lexer.js';

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

/**
 * Splits a template into literal text, `##`, `#name.path` and `#{ expression }`.
 * @param isValue whether a name stands for a value here, so that it is not meant as text in braces
 */
export function parseTemplate(
  template: string,
  fault: SyntaxFault,
  isValue: (name: string) => boolean,
): TemplatePart[] {
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
    const { interpolation, end } =
      template[hash + 1] === '{' ? braced(template, hash, fault) : bare(template, hash, textStart, fault);
    if (text !== '') parts.push(text);
    parts.push(interpolation);
    text = '';
    position = textStart = end;
  }
  if (text !== '') parts.push(text);
  return parts;
}

function foreign(found: string, path: string | undefined): string {
  if (found.startsWith('{{')) return `'${found}' would stay as it is: write #{#${path ?? 'name'}}`;
  return `'${found}' would stay as it is: write #{#${path}}, or #{'${found}'} where text in braces is meant`;
}

interface Parsed {
  readonly interpolation: Interpolation;
  readonly end: number;
}

/** `#{ expression }` */
function braced(template: string, start: number, fault: SyntaxFault): Parsed {
  const lexer = new Lexer(template, start + 2, fault);
  const parser = new ExpressionParser(lexer);
  const expression = parser.expression();
  const close = lexer.takeSymbol('}') ?? parser.unexpected(lexer.peek());
  return { interpolation: { expression, source: template.slice(start, close.end), bare: false }, end: close.end };
}

/** `#name.path` */
function bare(template: string, start: number, textStart: number, fault: SyntaxFault): Parsed {
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

  const expression = new ExpressionParser(new Lexer(template.slice(0, end), start, fault)).expression();
  return { interpolation: { expression, source, bare: true }, end };
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

/** Where the expression that begins here ends; -1 if it is none. */
function expressionEnd(template: string, start: number): number {
  try {
    const lexer = new Lexer(template, start, () => {
      throw new SyntaxError();
    });
    new ExpressionParser(lexer).expression();
    return lexer.takenEnd;
  } catch {
    return -1;
  }
}
