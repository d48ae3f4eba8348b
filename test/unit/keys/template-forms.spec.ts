import { compileKeyTemplate, lockKey } from '../../../lib/keys/index.js';
import { at, refusalOf, resolve, resolveIn, site } from './support.js';

describe('template forms', () => {
  it.each<[string, unknown[], string]>([
    ['nightly-report', [], 'nightly-report'],
    ['stock:#order', ['42'], 'stock:42'],
    ['stock:#order.sku', [{ sku: 'A1' }], 'stock:A1'],
    ['stock:#order?.sku', [{ sku: 'A1' }], 'stock:A1'],
    ['stock:#{#order.sku}', [{ sku: 'A1' }], 'stock:A1'],
    ['stock:#{ #order . sku }:x', [{ sku: 'A1' }], 'stock:A1:x'],
    ['#order:#b', ['a', 'b'], 'a:b'],
    ['#order.', ['a'], 'a.'],
    ['#order?', ['a'], 'a?'],
    ['ticket ##7 #order', ['a'], 'ticket #7 a'],
    ['###order', ['a'], '#a'],
    ['#{#order}.txt', ['a'], 'a.txt'],
    ['order:{#order}:pay', ['42'], 'order:{42}:pay'],
    ["it's #order", ['a'], "it's a"],
    ['#p0-#a1', ['x', 'y'], 'x-y'],
    ['#{#args[1]}', ['x', 'y'], 'y'],
    ['#{#order[0]}', [['x']], 'x'],
    ["#{#order['a b']}", [{ 'a b': 1 }], '1'],
    ['#{#order[#b]}', [{ x: 1 }, 'x'], '1'],
    ['#{#order[#b + 1]}', [['x', 'y', 'z'], 1], 'z'],
    ["#{#order['i' + 'd']}", [{ id: 1 }], '1'],
    ['#{#order.length}', [['x', 'y']], '2'],
    ['#{#order[0]}#{#order.length}', ['ab'], 'a2'],
    ['#{"stock:" + #order + \':x\'}', ['42'], 'stock:42:x'],
    ["#{'it''s' + #order}", [1], "it's1"],
    ['#{"say ""a"" " + #order}', [1], 'say "a" 1'],
    [String.raw`#{'it\'s \\ \u0041' + #order}`, [1], String.raw`it's \ A1`],
    ["#{'}' == #order ? 'closed' : 'open'}", ['}'], 'closed'],
    ['#{#order + 1}', [2], '3'],
    ['#{#order + #b}', [2n, 3n], '5'],
    ["#{#order + 1 + 'x'}", [2], '3x'],
    ["#{'x' + #order + 1}", [2], 'x21'],
    ['#{-5}', [], '-5'],
    ['#{- 1.5 + #order}', [2], '0.5'],
    ['#{true}-#{false}', [], 'true-false'],
    ["#{#order ?: 'none'}", [undefined], 'none'],
    ["#{#order ?: 'none'}", [null], 'none'],
    ["#{#order ?: 'none'}", [''], 'none'],
    ["#{#order ?: 'none'}", [0], '0'],
    ["#{#order ?: 'none'}", [false], 'false'],
    ["#{#order?:#b?:'none'}", [undefined, 'b'], 'b'],
    ["#{#order.sku ?: 'none'}", [{}], 'none'],
    ["#{#order ? 'yes' : 'no'}", [{}], 'yes'],
    ["#{#order ? 'yes' : 'no'}", [''], 'no'],
    ["#{#order == 'a' ? 1 : #order == 'b' ? 2 : 3}", ['b'], '2'],
    ["#{#order != 1 ? 'a' : 'b'}", ['1'], 'a'],
    ["#{#order == null ? 'a' : 'b'}", [undefined], 'a'],
    ["#{'a' + #order == 'ab' ? 'same' : 'other'}", ['b'], 'same'],
    ["#{#order == '%3A:' ? 'raw' : 'encoded'}", ['%3A:'], 'raw'],
    ["#{('a' + #order) + ('b' + #b)}", [1, 2], 'a1b2'],
    ["#{(#order ?: 'x') + ':y'}", [undefined], 'x:y'],
    ["#{#order?.a.b.c ?: 'none'}", [undefined], 'none'],
    ["#{#order?.[#b].c ?: 'none'}", [null, 'k'], 'none'],
    ['#{#order?.[0]}', [['x']], 'x'],
    ["#{#order + (#b ? ':dry' : '')}", ['x', false], 'x'],
    ['#{#root.className}.#{#root.methodName}', [], 'StockService.reserve'],
    ['#root.methodName:#order', [1], 'reserve:1'],
    ['a\tb'.replace('\t', '#{\n#order\t}'), ['-'], 'a-b'],
  ])('%j of %j', (template, args, key) => {
    expect(resolve(template, ...args)).toBe(key);
  });

  const rest = at({ names: ['a', 'rest'], rest: true });
  it.each([
    ['#this is the instance', '#this.tenant:x', site(), { self: { tenant: 't1' } }, 't1:x'],
    ['parameters win', '#root.id-#p0-#args', site('root', 'p0', 'args'), { args: [{ id: 1 }, 2, 3] }, '1-2-3'],
    ['the array of the other arguments', '#{#rest[1]}-#{#rest.length}', rest, { args: ['a', 'b', 'c'] }, 'c-2'],
    ['a position, if names cannot be read', '#p0', at({ unreadable: 'native' }), { args: [1] }, '1'],
  ])('%s', (_, template, where, call, key) => {
    expect(resolveIn(template, where, call)).toBe(key);
  });
});

describe('templates over a request', () => {
  const handler = at({ names: [] }, { request: true });
  const request = {
    params: { id: '7' },
    query: { q: 'a b' },
    body: { sku: 'x' },
    headers: { 'x-request-id': 'r1' },
    user: { id: 5 },
    data: 'd',
  };

  it('reads params, query, body, headers, user and data', () => {
    const template = "#params.id|#query.q|#body.sku|#{#headers['x-request-id']}|#user.id|#data|#root.methodName";
    expect(resolveIn(template, handler, { request })).toBe('7|a%20b|x|r1|5|d|reserve');
  });

  it.each(['#p0', '#args.length', '#this.x', '#order'])('%s is not available before the arguments', (name) => {
    expect(refusalOf(() => compileKeyTemplate(name, handler))).toMatch(
      /there is no #\w+ here, but #params, #query, #body, #headers, #user, #data, #root; an interceptor runs before/,
    );
  });

  it('header names are written in lower case', () => {
    expect(refusalOf(() => compileKeyTemplate("#{#headers['X-Id'] ?: 'none'}", handler))).toContain("#headers['x-id']");
  });

  it('with parameters given, arguments are there too and win', () => {
    const where = at({ names: ['body'] }, { request: true });
    expect(resolveIn('#body-#p0-#user.id', where, { args: [1], request })).toBe('1-1-5');
  });

  it('request names are for handlers', () => {
    expect(refusalOf(() => resolve('#user.id'))).toContain('#user is for handlers with @UseLock: write #p0');
  });
});

describe('literals stay, values are encoded', () => {
  it.each<[string, unknown[], string]>([
    ['#order', ['a:b'], 'a%3Ab'],
    ["#{'a:' + #order}", ['b:c'], 'a:b%3Ac'],
    ["#{#order ?: 'x:y'}", [null], 'x:y'],
    ["#{#order ?: 'x:y'}", ['a:b'], 'a%3Ab'],
    ["#{#b ? 'x:{y}' + #order : #order}", ['{', true], 'x:{y}%7B'],
    ['#{#order + #b}', ['a:', ':b'], 'a%3A%3Ab'],
  ])('%j of %j', (template, args, key) => {
    expect(resolve(template, ...args)).toBe(key);
  });

  it('template and lockKey meet on a value with a colon', () => {
    expect(lockKey`stock:${'a:b'}:${1}`).toBe(resolve('stock:#order:#b', 'a:b', 1));
  });
});
