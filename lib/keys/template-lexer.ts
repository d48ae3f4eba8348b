/** Throws: says where in the template what is wrong. */
export type SyntaxFault = (at: number, problem: string) => never;

/** The pattern of a name: of a parameter, of a property. */
export const NAME = String.raw`[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*`;

/** A token of an expression; `text` is its source, or the content of a string or a reference. */
export interface Token {
  readonly type: 'reference' | 'word' | 'number' | 'string' | 'symbol' | 'end';
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

type Group = Token['type'] | 'space';

// A quote ends a string unless it is doubled. The pattern checks that once, so an unclosed string stays cheap.
const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`#(?<reference>${NAME})`,
    String.raw`(?<word>${NAME})`,
    String.raw`(?<number>\d+(?:\.\d+)?)`,
    String.raw`(?<string>'(?:[^'\\]|''|\\.)*'(?!')|"(?:[^"\\]|""|\\.)*"(?!"))`,
    // Unknown operators are read as a whole, so that the error can name them.
    String.raw`(?<symbol>[=!]==?|\?\?|\?:|\?\.|\|\||&&|<=|>=|[^\s])`,
  ].join('|'),
  'suy',
);

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\', "'": "'", '"': '"' };

/** Reads an expression token by token, with one token of look-ahead. */
export class Lexer {
  #next: Token | undefined;
  /** Where the last consumed token ends. */
  takenEnd = 0;

  constructor(
    readonly source: string,
    private position: number,
    readonly fault: SyntaxFault,
  ) {}

  /** Returns the next token without consuming it. */
  peek(): Token {
    return (this.#next ??= this.#read());
  }

  /** Consumes the next token. */
  take(): Token {
    const token = this.peek();
    this.#next = undefined;
    this.takenEnd = token.end;
    return token;
  }

  /** Consumes the next token if it is one of these symbols. */
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
      const [type, text] = Object.entries(groups).find(([, found]) => found !== undefined) as [Group, string];
      if (type === 'space') continue;
      if (text === "'" || text === '"') this.fault(start, `this string is never closed by ${text}`);
      return { type, text: type === 'string' ? this.#unquote(text, start) : text, start, end };
    }
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
