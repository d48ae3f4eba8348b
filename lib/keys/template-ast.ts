/** The parts of a template in order: literal text and placeholders. */
export type TemplatePart = string | Interpolation;

/** `#name.path` (bare) or `#{ expression }`. */
export interface Interpolation {
  readonly expression: Expression;
  /** The source text, braces included. */
  readonly source: string;
  readonly bare: boolean;
}

/** The position of an expression in the template. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** `'text'`, `42`, `true`, `null` */
export interface Literal extends Span {
  readonly kind: 'literal';
  readonly value: string | number | boolean | null;
}

/** `#name` */
export interface Reference extends Span {
  readonly kind: 'reference';
  readonly name: string;
}

/** `head.a?.b[c]`: one node for the whole chain, because `?.` ends all of it. */
export interface Path extends Span {
  readonly kind: 'path';
  readonly head: Expression;
  readonly steps: readonly Step[];
}

/** One property of a path; `end` is where the path up to this property ends in the template. */
export interface Step {
  readonly key: string | Expression;
  readonly optional: boolean;
  readonly start: number;
  readonly end: number;
}

/** `a + b`, `a == b`, `a != b`, `a ?: b` */
export interface Binary extends Span {
  readonly kind: '+' | '==' | '!=' | '?:';
  readonly left: Expression;
  readonly right: Expression;
}

/** `test ? yes : no` */
export interface Conditional extends Span {
  readonly kind: 'conditional';
  readonly test: Expression;
  readonly yes: Expression;
  readonly no: Expression;
}

export type Expression = Literal | Reference | Path | Binary | Conditional;

/** Throws: says where in the template what is wrong. */
export type SyntaxFault = (at: number, problem: string) => never;
