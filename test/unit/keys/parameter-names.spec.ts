import ts from 'typescript';
import { compileKeyTemplate, parameterNames } from '../../../lib/keys/index.js';
import { at, refusalOf } from './support.js';

/** Evaluated from text, so that no transpiler stands between the form and the test. */
const evaluate = (source: string): any => new Function(`return (${source});`)();
const namesIn = (source: string) => parameterNames(evaluate(source));

describe('parameter names are parsed, not guessed', () => {
  it.each<[string, (string | undefined)[]]>([
    ['function (a, b) {}', ['a', 'b']],
    ['async function (a) { await a }', ['a']],
    ['function* (a) { yield a }', ['a']],
    ['async function* (a) {}', ['a']],
    ['a => a', ['a']],
    ['async a => a', ['a']],
    ['(a, b) => ({ a, b })', ['a', 'b']],
    ['async (a, b) => a', ['a', 'b']],
    ['() => 1', []],
    ['function (a = (x, y) => ({ x, y }), b = "),{", c = /[)/]\\)/) {}', ['a', 'b', 'c']],
    ['function (a /* , c) { */, // d)\n b) {}', ['a', 'b']],
    ['function ({ a, b }, [c], d) {}', [undefined, undefined, 'd']],
    ['function ({ a } = {}, [b] = [], c = 1) {}', [undefined, undefined, 'c']],
    ['function (a = `${`)`}`, b = {})  { }', ['a', 'b']],
    ['function ($a, _b, ünïcode) {}', ['$a', '_b', 'ünïcode']],
    ['function (a) { with (a) { return 010 } }', ['a']],
    ['function (a) { return "{ [native code] }" }', ['a']],
    ['({ m(a, b) {} }).m', ['a', 'b']],
    ['({ async m(a) {} }).m', ['a']],
    ['({ *m(a) {} }).m', ['a']],
    ['({ async *m(a) {} }).m', ['a']],
    ['({ "a b"(a) {} }).["a b"]'.replace('.[', '['), ['a']],
    ['({ 1(a) {} })[1]', ['a']],
    ['({ ["x" + (() => "(q)")()](a) {} })["x(q)"]', ['a']],
    ['({ async(a) {} }).async', ['a']],
    ['({ await(a) {} }).await', ['a']],
    ['({ m(a) { return super.toString() + new.target } }).m', ['a']],
    ['(class { m(a) { return this.#x } #x = 1 }).prototype.m', ['a']],
    ['(class { m(a) { return #x in a } #x = 1 }).prototype.m', ['a']],
    ['(class { m(a) { class B { static { this.x = a } } return super.m } }).prototype.m', ['a']],
    ['(class { static async m(a, b) {} }).m', ['a', 'b']],
    ['(class { static read() { return this.#m } static #m(a, b) {} }).read()', ['a', 'b']],
    ['(function () { return (a, b) => new.target })()', ['a', 'b']],
    ['({ m() { return (a) => super.x } }).m()', ['a']],
    ['(class { m(a) { return import("x") } }).prototype.m', ['a']],
    ['(class { async m(a) { for await (const x of a) a ??= x?.y ** 2n; } }).prototype.m', ['a']],
  ])('%s', (source, names) => {
    const { defaults: _, ...parameters } = namesIn(source) as { names: unknown; defaults?: unknown };
    expect(parameters).toEqual({ names });
  });

  it.each<[string, object]>([
    [
      '(class { m(a = this, b = arguments) {} }).prototype.m',
      { names: ['a', 'b'], defaults: [0, 1], usesArguments: true },
    ],
    ['function m() { return inner.apply(this, arguments); }', { names: [], usesArguments: true }],
    ['function m(a, ...b) { return [arguments.length, b]; }', { names: ['a', 'b'], rest: true, usesArguments: true }],
    ['function (a, ...rest) {}', { names: ['a', 'rest'], rest: true }],
    ['(...[a, b]) => a', { names: [undefined], rest: true }],
  ])('%s may read more than it names', (source, names) => {
    expect(namesIn(source)).toEqual(names);
  });

  it('a method whose body has import.meta', () => {
    const method = { toString: () => '' };
    expect(parameterNames({ m: (a: unknown) => [import.meta.url, a, method] }.m)).toEqual({ names: ['a'] });
  });

  it('a custom toString is not called', () => {
    const fn = Object.assign((a: unknown) => a, { toString: () => '(b) => b' });
    expect(parameterNames(fn)).toEqual({ names: ['a'] });
  });

  it.each<[string, any]>([
    ['a native function', Math.max],
    ['a bound function', ((a: unknown) => a).bind(null)],
    ['a Proxy', new Proxy((a: unknown) => a, {})],
  ])('%s is unreadable', (_, fn) => {
    expect(parameterNames(fn)).toEqual({ unreadable: 'a native, bound or proxied function shows no source' });
  });

  it('a value that is not a function or class is unreadable', () => {
    expect(parameterNames(undefined as never)).toEqual({ unreadable: 'it is no function' });
    expect(
      parameterNames(
        class {
          constructor(public a: number) {}
        },
      ),
    ).toHaveProperty('unreadable');
  });
});

const SERVICE = `
  function Log(): any { return (_: object, __: string, d: PropertyDescriptor) => d; }
  class Service {
    #stock = 1;
    constructor(private readonly name: string) {}
    async reserve(order: { sku: string }, qty: number = 1, ...tags: string[]) { return this.#stock + qty; }
    @Log() plain(order: { sku: string }, qty?: number) { return [order?.sku ?? qty, super.toString()]; }
    destructured({ sku }: { sku: string }, qty = 2) { return sku + qty; }
  }
  return Service;
`;

function compiled(target: ts.ScriptTarget) {
  const { outputText } = ts.transpileModule(SERVICE, {
    compilerOptions: {
      target,
      experimentalDecorators: true,
      module: ts.ModuleKind.None,
      removeComments: false,
      ignoreDeprecations: '6.0',
    },
  });
  return new Function(outputText)().prototype;
}

describe('the output of TypeScript for a class', () => {
  const { ES2017, ES2018, ES2019, ES2020, ES2021, ES2022, ESNext } = ts.ScriptTarget;
  it.each([ES2017, ES2018, ES2019, ES2020, ES2021, ES2022, ESNext])('target %s keeps the names', (target) => {
    const service = compiled(target);
    expect(parameterNames(service.reserve)).toEqual({ names: ['order', 'qty', 'tags'], defaults: [1], rest: true });
    expect(parameterNames(service.plain)).toEqual({ names: ['order', 'qty'] });
    expect(parameterNames(service.destructured)).toEqual({ names: [undefined, 'qty'], defaults: [1] });
  });

  it.each([ts.ScriptTarget.ES2015, ts.ScriptTarget.ES2016])('target %s loses names, as the error says', (target) => {
    const { reserve } = compiled(target);
    const refusal = refusalOf(() => compileKeyTemplate('stock:#order.sku', at(parameterNames(reserve))));
    expect(refusal).toContain(
      'compilers lose parameter names for targets below ES2017, minifiers and bundlers rename them',
    );
    expect(refusal).toContain('write #p0 for the first argument, or give a function as key');
  });

  it('ES5 code and minified code get the same advice', () => {
    for (const source of [
      'function (_a) { var sku = _a.sku; }',
      'function () { var order = arguments[0]; }',
      '(e,t)=>e+t',
    ]) {
      const refusal = refusalOf(() => compileKeyTemplate('#order_id', at(namesIn(source))));
      expect(refusal).toContain('compilers lose parameter names for targets below ES2017');
    }
  });
});
