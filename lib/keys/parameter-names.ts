import { parseExpressionAt, type Class, type MethodDefinition, type Options, type Pattern } from 'acorn';

/**
 * The parameters of a function by position, or why they cannot be read. A destructured parameter has no name (`undefined`).
 * With `rest`, the last one collects all remaining arguments. `defaults`: the positions of those with a default value. With
 * `usesArguments`, the function may read more arguments than it names, like the output of compilers for old targets. Plain
 * data, so that a wrapper of the function can pass it on as metadata.
 */
export type ParameterNames =
  | {
      readonly names: readonly (string | undefined)[];
      readonly rest?: boolean;
      readonly defaults?: readonly number[];
      readonly usesArguments?: boolean;
    }
  | { readonly unreadable: string };

/** The text of a function does not show its surroundings, so everything is allowed that is allowed somewhere. */
const OPTIONS: Options = {
  ecmaVersion: 'latest',
  checkPrivateFields: false,
  allowSuperOutsideMethod: true,
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true, // for `import.meta`; `sourceType: 'module'` would refuse sloppy code
};

/** The text of a method is no program: the parser reads it in a context where it may stand, and finds it there again. */
const PLACES: ReadonlyArray<{ wrap: (text: string) => string; path: ReadonlyArray<string | number> }> = [
  { wrap: (text) => `({${text}\n})`, path: ['properties', 0, 'value'] },
  // Inside a function, for arrows with `new.target`.
  { wrap: (text) => `(function(){(${text}\n)})`, path: ['body', 'body', 0, 'expression'] },
  // For methods with a private name.
  { wrap: (text) => `(class{${text}\n})`, path: ['body', 'body', 0, 'value'] },
];

/**
 * Reads the parameter names of a function or method from its source text, with a real parser: defaults, comments,
 * destructuring and computed names included. Never throws and runs nothing.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- whatever a descriptor holds
export function parameterNames(fn: Function): ParameterNames {
  if (typeof fn !== 'function') return { unreadable: 'it is no function' };
  const text = Function.prototype.toString.call(fn);
  if (/\{\s*\[native code\]\s*\}$/.test(text))
    return { unreadable: 'a native, bound or proxied function shows no source' };

  let reason = '';
  for (const { wrap, path } of PLACES) {
    try {
      const params = at(parseExpressionAt(wrap(text), 0, OPTIONS), [...path, 'params']);
      if (Array.isArray(params)) return fromParameters(params as Pattern[], /\barguments\b/.test(text));
      reason = 'its source is no function';
    } catch (error) {
      reason ||= `its source could not be parsed: ${(error as Error).message}`;
    }
  }
  return { unreadable: reason };
}

/**
 * The parameter names of a method of a class. A decorator may have replaced the method by a wrapper, which hides them: then
 * they are read from the source of the class. Callers pass what the method declares.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- whatever a descriptor holds
export function methodParameterNames(method: Function, type: Function, name: string | symbol): ParameterNames {
  const text = Function.prototype.toString.call(type);
  if (!text.startsWith('class') || text.includes(Function.prototype.toString.call(method)))
    return parameterNames(method);
  try {
    const { body } = (parseExpressionAt(`(${text})`, 0, OPTIONS) as Class).body;
    const declared = body.findLast(
      (member) =>
        member.type === 'MethodDefinition' && member.kind === 'method' && !member.static && isNamed(member, name),
    ) as MethodDefinition | undefined;
    if (declared === undefined) return parameterNames(method);
    const { params, start, end } = declared.value;
    return fromParameters(params, /\barguments\b/.test(text.slice(start - 1, end - 1)));
  } catch {
    return parameterNames(method);
  }
}

const isNamed = ({ key, computed }: MethodDefinition, name: string | symbol): boolean =>
  !computed && ((key.type === 'Identifier' && key.name === name) || (key.type === 'Literal' && key.value === name));

const at = (node: unknown, path: ReadonlyArray<string | number>): unknown =>
  path.reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], node);

function fromParameters(params: readonly Pattern[], usesArguments: boolean): ParameterNames {
  const defaults = params.flatMap(({ type }, i) => (type === 'AssignmentPattern' ? [i] : []));
  return {
    names: params.map(nameOf),
    ...(defaults.length > 0 ? { defaults } : {}),
    ...(params.at(-1)?.type === 'RestElement' ? { rest: true } : {}),
    ...(usesArguments ? { usesArguments } : {}),
  };
}

function nameOf(pattern: Pattern): string | undefined {
  switch (pattern.type) {
    case 'Identifier':
      return pattern.name;
    case 'AssignmentPattern':
      return nameOf(pattern.left);
    case 'RestElement':
      return nameOf(pattern.argument);
    default:
      return undefined;
  }
}
