import type { SyntaxFault } from './template-ast.js';

/** What a name looks like: of a parameter, of a property. */
export const NAME = String.raw`[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*`;

/** A piece of an expression; `text` is its source, or for a string or a reference what it stands for. */
export interface Token {
  readonly type: 'reference' | 'word' | 'number' | 'string' | 'symbol' | 'end';
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

// A quote ends a string unless it is doubled; that is looked at once, so a string that never ends costs no more.
const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`#(?<reference>${NAME})`,
    String.raw`(?<word>${NAME})`,
    String.raw`(?<number>\d+(?:\.\d+)?)`,
    String.raw`(?<string>'(?:[^'\\]|''|\\.)*'(?!')|"(?:[^"\\]|""|\\.)*"(?!"))`,
    // Operators that do not exist are read whole, too, to be named in the error.
    String.raw`(?<symbol>[=!]==?|\?\?|\?:|\?\.|\|\||&&|<=|>=|[^\s])`,
  ].join('|'),
  'suy',
);

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\', "'": "'", '"': '"' };

/** Reads an expression piece by piece, with one piece of look-ahead. */
export class Lexer {
  #next: Token | undefined;
  /** Where the last token that was taken ends. */
  takenEnd = 0;

  constructor(
    readonly source: string,
    private position: number,
    readonly fault: SyntaxFault,
  ) {}

  /** The next token, which stays the next one. */
  peek(): Token {
    return (this.#next ??= this.#read());
  }

  /** The next token; the one after it is next then. */
  take(): Token {
    const token = this.peek();
    this.#next = undefined;
    this.takenEnd = token.end;
    return token;
  }

  /** Takes the next token if it is one of these symbols. */
  takeSymbol(...symbols: string[]): Token | undefined {
    const { type, text } = this.peek();
    return type === 'symbol' && symbols.includes(text) ? this.take() : undefined;
  }

  #read(): Token {
    for (;;) {
      const start = this.position;
      TOKEN.lastIndex = start;
      const groups = TOKEN.exec(this.source)?.groups;
      if (!groups) return { type: 'end', text: '', start, end: start };
      const end = (this.position = TOKEN.lastIndex);
      if (groups['space'] !== undefined) continue;
      if (groups['reference'] !== undefined) return { type: 'reference', text: groups['reference'], start, end };
      if (groups['word'] !== undefined) return { type: 'word', text: groups['word'], start, end };
      if (groups['number'] !== undefined) return { type: 'number', text: groups['number'], start, end };
      if (groups['string'] !== undefined)
        return { type: 'string', text: this.#unquote(groups['string'], start), start, end };
      return { type: 'symbol', text: this.#symbol(groups['symbol'] as string, start), start, end };
    }
  }

  #symbol(text: string, start: number): string {
    if (text === "'" || text === '"') this.fault(start, `this string is never closed by ${text}`);
    return text;
  }

  #unquote(quoted: string, start: number): string {
    const quote = quoted[0] as string;
    return quoted.slice(1, -1).replace(/\\u([\da-fA-F]{4})|\\(.)|''|""/gsu, (text, code?: string, escaped?: string) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      if (escaped !== undefined) {
        return ESCAPED[escaped] ?? this.fault(start, String.raw`${text} is no escape: write \\ for a backslash`);
      }
      return text[0] === quote ? quote : text;
    });
  }
}
