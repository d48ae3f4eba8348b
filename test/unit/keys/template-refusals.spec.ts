import { LockKeyError } from '../../../lib/errors/index.js';
import { compileKeyTemplate, parameterNames, type ParameterNames } from '../../../lib/keys/index.js';
import { at, refusalOf, resolve, resolveIn, site, throwing } from './support.js';

describe('invalid templates stop the application', () => {
  it.each<[string, string]>([
    ["'stock:' + #order.id", "write #{'stock:' + #order.id}."],
    ["#order.id + ':x'", "write #{#order.id + ':x'}."],
    ["#order ?: 'x'", "write #{#order ?: 'x'}."],
    ["stock:#order ?: 'x'", "write stock:#{#order ?: 'x'}."],
    ["stock:'#order'", "write stock:'#{#order}'."],
    ['stock:"#order"', 'write stock:"#{#order}".'],
    ["('a' + #order)", "write #{('a' + #order)}."],
    ["#order == 1 ? 'a' : 'b'", "write #{#order == 1 ? 'a' : 'b'}."],
    ["#order ? 'a' : 'b'", "write #{#order ? 'a' : 'b'}."],
    ["#order ?? 'x'", "write #{#order} ?? 'x'."],
    ['+#order', 'write +#{#order}.'],
    ['x:#order[0].id', 'write x:#{#order[0].id}.'],
    ['x:#order?.[0]', 'write x:#{#order?.[0]}.'],
    ['#order.trim()', 'at 12, "()": a call, which a template does not make: give a function as key'],
    ['a#', 'at 2, "#": a single \'#\' is no text: write ##'],
    ['# order', "a single '#' is no text"],
    ['${order}', "'${' would stay as it is: write '#{'"],
    ['#{#order ?? 1}', "at 10, \"?? 1}\": unexpected '??': write '?:'"],
    ['#{#order || 1}', "unexpected '||': write '?:'"],
    ['#{#order && 1}', "unexpected '&&': write 'a ? b : c', or give a function as key"],
    ['#{#order === 1}', "unexpected '===': write '=='"],
    ['#{#order !== 1}', "unexpected '!==': write '!='"],
    ['#{#order = 1}', "unexpected '=': nothing is assigned here: write '=='"],
    ['#{!#order}', "unexpected '!': write '!='"],
    ['#{#order - 1}', "there are only '+', '=='"],
    ['#{#order.trim()}', "unexpected '(': a template calls nothing: give a function as key"],
    ['#{#order?.()}', "after '?.' the name of a property"],
    ['#{foo()}', 'foo(…): a template calls nothing: give a function as key'],
    ['#{new Date()}', "unexpected 'new': a template constructs nothing: give a function as key"],
    ['#{T(java.lang.Math).random()}', "unexpected 'T': a template knows no types: give a function as key"],
    ['#{order.id}', "unexpected 'order': write #order for a parameter, 'order' in quotes for text"],
    ['#{this.x}', 'write #this.property'],
    ['#{undefined}', "write 'null'"],
    ['#{#order eq 1}', "unexpected 'eq': write '=='"],
    ['#{toString}', 'write #toString for a parameter'],
    ['#{`a`}', "unexpected '`': write a string in quotes"],
    ['#{{1}}', "unexpected '{'"],
    ['#{#{#order}}', "'#' begins a name here: write #name without '#{'"],
    ['#{#order', "at its end: the template ends within '#{': close it with '}'"],
    ["#{'abc}", 'at 3, "\'abc}": this string is never closed by \''],
    ["#{'abc''}", 'never closed'],
    [String.raw`#{'\d'}`, 'is no escape: write \\\\ for a backslash'],
    ['#{}', "a value is missing before '}'"],
    ['#{#order +}', "a value is missing before '}'"],
    ['#{(#order}', "')' is missing here"],
    ['#{#order[0}', "']' is missing here"],
    ['#{#order ? 1}', "':' is missing here"],
    ['#{#order 5}', "unexpected '5': an operator is missing before it"],
    ['#{1 == 2 == 3}', "unexpected '=='"],
    ['#{#order.}', "after '.' the name of a property"],
    ['#{#order[true]}', 'an index is a string or a number'],
    ['#{12345678901234567890}', 'write it in quotes'],
    ['#{#root}', 'of #root there are #root.methodName and #root.className'],
    ['#root.target', 'of #root there are #root.methodName and #root.className'],
    ['#order.__proto__', "'__proto__' is never read"],
    ['#{#order.constructor}', "'constructor' is never read"],
    ["#{#order['prototype']}", "'prototype' is never read"],
    ['stock:{order}', "at 7, \"{order}\": '{order}' would stay as it is: write #{#order}, or #{'{order}'} where"],
    ['#order:{ order.sku }', "'{ order.sku }' would stay as it is: write #{#order.sku}"],
    ['{{order.sku}}', 'at 1, "{{order.sku}}": \'{{order.sku}}\' would stay as it is: write #{#order.sku}.'],
    ['a:{{ sku }}', "'{{ sku }}' would stay as it is: write #{#sku}."],
    ['a:{{#order}}', "'{{' would stay as it is: write #{#name}."],
    ['a:##{x}', "its key has a '#{' of a template, which only decorators read"],
    ['  ', 'its key is blank'],
    ['#{order % 2}', 'write #order for a parameter'],
    ['#{#order ~ 1}', 'the operators in docs/templates.md'],
    ['a:#p1', 'the method has one parameter, #p0'],
    ['{#order}', 'in braces as a whole'],
    ['{#{#order}}', 'in braces as a whole'],
    ['a}#order', "has a '}' before its first '{'"],
    ['a\nb', 'has a line break or another control character'],
    ['x'.repeat(600), 'is too long: 600 characters'],
    ['x'.repeat(1025), 'is a string of 1025 characters; it must be a string of 1 to 1024 characters'],
    ['', 'is an empty string'],
    [undefined as never, 'is undefined; it must be a string'],
    [`#{${'('.repeat(200)}1${')'.repeat(200)}}`, 'more than 100 levels of nesting'],
    [`#{${'#order?:'.repeat(110)}1}`, 'more than 100 levels of nesting'],
    [`#{${'#order['.repeat(110)}`, 'more than 100 levels of nesting'],
  ])('%j', (template, message) => {
    const refusal = refusalOf(() => compileKeyTemplate(template, site('order')));
    expect(refusal).toContain(message);
    expect(refusal).toContain('StockService.reserve');
    expect(refusal.length).toBeLessThan(600);
  });

  it.each(["'stock:' + #order.id", "stock:#order ?: 'x'", "it '#order'", 'x:#order[0].id', "('a' + #order)"])(
    'the correction of %j compiles',
    (template) => {
      const correction = /: write (.*)\.$/.exec(refusalOf(() => compileKeyTemplate(template, site('order'))))?.[1];
      expect(() => compileKeyTemplate(correction as string, site('order'))).not.toThrow();
    },
  );

  it('more than 100 levels are refused', () => {
    expect(resolve(`#{${'('.repeat(99)}#order${')'.repeat(99)}}`, 'x')).toBe('x');
  });
});

describe('unknown names', () => {
  it('an unknown name is reported with its position, the known names, and what loses names', () => {
    expect(refusalOf(() => compileKeyTemplate('stock:#{#ordr.sku}', site('order', 'qty')))).toBe(
      'Key template "stock:#{#ordr.sku}" of StockService.reserve, at 9, "#ordr.sku}": there is no #ordr here, but #order, ' +
        '#qty, #p0, #args, #this, #root; compilers lose parameter names for targets below ES2017, minifiers and bundlers rename them, ' +
        'and wrappers of other decorators hide them: write #p0 for the first argument, or give a function as key.',
    );
  });

  it.each<[string, ParameterNames, string]>([
    ['#p2', { names: ['order', 'b'] }, 'at 1, "#p2": the method has 2 parameters, #p0 to #p1.'],
    ['a:#{#order ?: #a7}', { names: ['order', 'b'] }, 'the method has 2 parameters, #p0 to #p1.'],
    ['#p0', { names: [] }, 'the method has no parameters.'],
  ])('the position %s beyond the parameters', (template, names, message) => {
    expect(refusalOf(() => compileKeyTemplate(template, at(names)))).toContain(message);
  });

  it.each<[string, ParameterNames]>([
    ['rest', { names: ['order', 'more'], rest: true }],
    ['arguments', { names: ['order'], usesArguments: true }],
    ['unknown names', { unreadable: 'a native function' }],
    ['a destructured parameter', { names: [undefined, undefined, undefined, undefined] }],
  ])('positions are not counted with %s', (_what, names) => {
    expect(resolveIn('#p3', at(names), { args: [1, 2, 3, 4] })).toBe('4');
  });

  it('a name of the request in braces, in a handler', () => {
    const handler = at({ names: [] }, { request: true });
    expect(refusalOf(() => compileKeyTemplate('order:{params.id}', handler))).toContain('write #{#params.id}');
    expect(resolveIn('order:{id}', handler, {})).toBe('order:{id}');
  });

  it.each([
    ['{fixed}:#order', '{fixed}:1'],
    ['a:{#order}', 'a:{1}'],
    ['a:{#{#order}}:b', 'a:{1}:b'],
    ["#{'{order}'}:#order", '{order}:1'],
    ['a:{order:#order}', 'a:{order:1}'],
  ])('the hash tag of %j does not count as a name', (template, key) => {
    expect(resolve(template, 1)).toBe(key);
  });

  it.each([
    ['a destructured parameter', '#sku', site('a', undefined), 'write #p1.sku'],
    ['text right behind a name', '#order_eu', site('order'), 'write #{#order}_eu'],
    ['names that cannot be read', '#order', at({ unreadable: 'native' }), 'cannot be read (native): write #p0'],
  ])('%s', (_, template, where, correction) => {
    expect(refusalOf(() => compileKeyTemplate(template, where))).toContain(correction);
  });
});

describe('refused values', () => {
  class Order {
    get total() {
      throw new Error('a getter ran');
    }
    method() {}
  }
  const mustBe = 'a value in a key must be a non-empty string, a finite number, a bigint or a boolean';
  const property = 'name a property that is a string or a number, or give a function as key';

  it.each<[unknown, string]>([
    [undefined, `#order.sku is undefined; ${mustBe}`],
    [null, `#order.sku is null; ${mustBe}`],
    ['', `#order.sku is an empty string; ${mustBe}`],
    [Number.NaN, `#order.sku is NaN; ${mustBe}`],
    [Infinity, `#order.sku is Infinity; ${mustBe}`],
    [-Infinity, `#order.sku is -Infinity; ${mustBe}`],
    [{}, `#order.sku is an object; ${property}`],
    [Object.create(null), `#order.sku is an object; ${property}`],
    [[1], `#order.sku is an array; ${property}`],
    [new Date(), `#order.sku is an object (Date); ${property}`],
    [Promise.resolve(), `#order.sku is an object (Promise); ${property}`],
    [new Order(), `#order.sku is an object (Order); ${property}`],
    [Object(1), `#order.sku is an object (Number); ${property}`],
    [Symbol('x'), `#order.sku is a symbol; ${property}`],
    [() => 1, '#order.sku is a function, which a template does not call: give a function as key'],
    ['x'.repeat(100_000), '#order.sku is a string of 100000 characters; a key has at most 512 bytes'],
  ])('%p', (sku, message) => {
    expect(refusalOf(() => resolve('stock:#{#order.sku}', { sku }))).toBe(
      `Key template "stock:#{#order.sku}" of StockService.reserve: ${message}.`,
    );
  });

  it.each<[string, unknown[], string]>([
    ['#order', [() => 1], '#order is a function; name a property'],
    ['#{#order.name}', [Order], 'is a property of a function, of which nothing is read'],
    ['#{#order.sku.id}', [{}], "#order.sku is undefined, so #order.sku.id cannot be read: write '?.'"],
    ['#{#order.sku}', [null], '#order is null, so #order.sku cannot be read'],
    ['#{(#order?.a).b}', [null], '(#order?.a) is undefined, so (#order?.a).b cannot be read'],
    [
      '#order.total',
      [new Order()],
      '#order.total is a getter of its class, and a template reads only own data: give a function as key, such as ' +
        'key: (order) => lockKey`order:${order.total}`.',
    ],
    ["#{#order.total ?: 'x'}", [new Order()], '#order.total is a getter of its class'],
    [
      '#order.total',
      [Object.defineProperty({}, 'total', { get: () => 'x' })],
      '#order.total is a getter, which a template does not run: give a function',
    ],
    ['#order.total', [{ set total(_: number) {} }], '#order.total is a getter'],
    [
      '#order.method',
      [new Order()],
      'data: give a function as key, such as key: (order) => lockKey`order:${order.method()}`.',
    ],
    ["#{#order.toString ?: 'x'}", [{}], '#order.toString is a method'],
    ['#order.tenant', [Object.create({ tenant: 't' })], '#order.tenant is inherited'],
    ['#order.size', [new Map()], '#order.size is looked for in a Map, which a template cannot read: give a function'],
    ["#{#order.x ?: 'y'}", [new Set()], '#order.x is looked for in a Set'],
    ['#{#order[#b]}', [{}, '__proto__'], '#order[#b] has the index "__proto__", which is never read'],
    ['#{#order[#b]}', [{}, 'constructor'], 'has the index "constructor", which is never read'],
    ['#{#order[#b]}', [{}, {}], 'has an index that is neither a string nor a number'],
    ['#{#order[#b]}', [{}, undefined], 'has an index that is neither a string nor a number'],
    ["#{'a' + #order.sku}", [{}], '#order.sku is undefined'],
    ["#{'a' + #order}", [''], '#order is an empty string'],
    ['#{#order + 1}', [undefined], '#order is undefined'],
    ['#{#order + 1}', [{}], '#order is an object'],
    ['#{#order + 1}', [Number.NaN], '#order + 1 is NaN'],
    ["a#{''}", [], "'' is an empty string"],
    ["a#{#order ?: ''}", [null], "#order ?: '' is an empty string"],
    ['#{null}', [], 'null is null'],
    ['#order#b', ['x'.repeat(300), 'y'.repeat(300)], 'is too long: 600 characters, where 512 bytes are allowed'],
    ['#order', ['é'.repeat(300)], 'is too long: 600 bytes, where 512 bytes are allowed'],
    ["#{#order ? '{' : 'a'}#b}", [true, 'x'], 'its key "{x}" is in braces as a whole'],
  ])('%j of %p', (template, args, message) => {
    expect(refusalOf(() => resolve(template, ...args))).toContain(message);
  });

  it.each<[string, unknown, string]>([
    ['report:#order.txt', 'may', "if '.txt' is text, write #{#order}.txt"],
    ['#order.tar.gz', 'may', "if '.tar.gz' is text, write #{#order}.tar.gz"],
    ['#order.id.txt', { id: 7 }, "if '.txt' is text, write #{#order.id}.txt"],
    ['#order.link', 'may', "if '.link' is text, write #{#order}.link"],
  ])('%j with a plain value suggests that the end is text', (template, value, hint) => {
    expect(refusalOf(() => resolve(template, value))).toContain(hint);
  });

  it('a missing property does not count as text', () => {
    expect(refusalOf(() => resolve('#order.sku', {}))).not.toContain('is text');
  });

  it.each<[string, () => unknown]>([
    ['a template that is empty', () => compileKeyTemplate('', site('order'))],
    ['a template with a wrong name', () => compileKeyTemplate('#oder', site('order'))],
    ['a value', () => resolve('#order', undefined)],
    ['a key', () => resolve('#order', 'x'.repeat(600))],
  ])('the error about %s names the method', (_what, attempt) => {
    expect(attempt).toThrow(expect.objectContaining({ code: 'LOCK_KEY', method: 'StockService.reserve' }));
  });

  it('a Proxy that throws is a LockKeyError with its cause', () => {
    const cause = new Error('trap');
    const attempt = () => resolve('#order.sku', throwing('getOwnPropertyDescriptor', cause));
    expect(refusalOf(attempt)).toContain('#order.sku could not be read');
    expect(attempt).toThrow(expect.objectContaining({ cause }));
    expect(attempt).toThrow(LockKeyError);
  });

  it('a forged error of a Proxy is not read', () => {
    const fail = (): never => {
      throw new Error('looked at');
    };
    const cause = new Proxy(new Error(), { get: fail, has: fail, getPrototypeOf: fail });
    const proxy = throwing('getOwnPropertyDescriptor', cause);
    expect(refusalOf(() => resolve('#order.sku', proxy))).toContain('#order.sku could not be read');
  });

  it('only the descriptor of a Proxy is read', () => {
    const asked: string[] = [];
    const traps = new Proxy({}, { get: (_, trap) => void asked.push(String(trap)) });
    const key = resolve("#{#order == null ? 'none' : #order.sku}", new Proxy({ sku: 'x' }, traps));
    expect([key, ...asked]).toEqual(['x', 'getOwnPropertyDescriptor']);
  });

  it('names of classes are printed on one line', () => {
    const type = Object.defineProperty(class {}, 'name', { value: 'A\nB\u202e' });
    expect(refusalOf(() => resolve('#order', new type()))).toContain(String.raw`an object (A B\u202e)`);
  });
});

describe('a parameter with a default value', () => {
  const reserve = (template: string, args: unknown[]) => {
    const parameters = parameterNames(function (size = 10, order = { sku: 'a' }, plain?: string) {
      return [size, order, plain];
    });
    return compileKeyTemplate(template, { className: 'S', methodName: 'm', parameters })({ args, self: {} });
  };
  const unseen = /is undefined.*does not see the default of the parameter: write '\?:' with the default/;

  it.each(['a:#size', 'a:#{#size}', 'a:#p0', "#{'a' + #size}", '#{#order.sku}', 'a:#p1'])('%s', (template) => {
    expect(refusalOf(() => reserve(template, []))).toMatch(unseen);
  });

  it('is not mentioned for other values and parameters, nor where the template has a default', () => {
    expect(reserve("a:#{#size ?: 10}:#{#order?.sku ?: 'a'}", [])).toBe('a:10:a');
    for (const [template, args] of [
      ['a:#plain', []],
      ['a:#size', [null]],
      ['a:#{#order.sku}', [1, null]],
      ['a:#{#order.sku}', [1, {}]],
    ] as const) {
      expect(refusalOf(() => reserve(template, [...args]))).not.toMatch(/default/);
    }
  });
});
