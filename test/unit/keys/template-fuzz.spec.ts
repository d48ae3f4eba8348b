import fc from 'fast-check';
import { LockKeyError } from '../../../lib/errors/index.js';
import { assertKey, compileKeyTemplate, encodeKeyPart } from '../../../lib/keys/index.js';
import { resolve, site } from './support.js';

/** Everything but a `LockKeyError` on one line fails the test. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof LockKeyError) || /[\n\r\u2028\u2029]/.test(error.message)) throw error;
    expect(error.message.length).toBeLessThan(2_000);
    return undefined;
  }
}

const TOKENS = [
  ...`# ## #{ } #order #b .sku ?. . [ ] ( ) ' " 'x' "y" + ?: ? : == != = 0 1.5 - null true`.split(' '),
  ...'#this #root #args #p1 .methodName __proto__ ?? || { $ é'.split(' '),
  ...[' ', '\n', '\\', '\ud800'],
];
const template = fc.oneof(
  fc.array(fc.constantFrom(...TOKENS), { maxLength: 14 }).map((tokens) => tokens.join('')),
  fc.array(fc.constantFrom(...TOKENS), { maxLength: 10 }).map((tokens) => `#{${tokens.join('')}}`),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

describe('random templates and arguments', () => {
  it('give a valid key, or a LockKeyError on one line', () => {
    const values = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withTypedArray: true,
    });
    // Making them takes longer than the templates do.
    const some = fc.sample(values, 500);
    const argument = fc.nat({ max: some.length - 1 }).map((i) => some[i]);
    fc.assert(
      fc.property(template, argument, argument, (source, a, b) => {
        const compiled = attempt(() => compileKeyTemplate(source, site('order', 'b')));
        const key = compiled && attempt(() => compiled({ args: [a, b], self: { sku: 's' } }));
        if (key !== undefined) assertKey(key);
      }),
      { numRuns: 10_000 },
    );
  });

  it('run no getter, and accept no Proxy', () => {
    let ran = 0;
    const count = () => ran++;
    const thrown: unknown = { isError: false };
    const fail = (): never => {
      throw thrown;
    };
    const traps = new Proxy({}, new Proxy({}, { get: () => fail }));
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const getters = {
      get sku() {
        return count();
      },
      toString: count,
      valueOf: count,
      toJSON: count,
      [Symbol.toPrimitive]: count,
      get [Symbol.toStringTag]() {
        return String(count());
      },
    };
    class Model {
      get sku() {
        return count();
      }
      static get prototypeName() {
        return count();
      }
    }
    const functionLike = new Proxy(() => 1, { apply: count, get: count });
    const values: unknown[] = [
      getters,
      traps,
      revoked.proxy,
      new Model(),
      Model,
      functionLike,
      [getters],
      { sku: traps },
      { sku: getters },
      Object.create(getters),
    ];
    // By index, since fast-check itself looks into the values that it hands out. `#root` reads the instance, so that is plain.
    const nasty = fc.nat({ max: values.length - 1 });
    fc.assert(
      fc.property(template, nasty, nasty, (source, a, b) => {
        const compiled = attempt(() => compileKeyTemplate(source, site('order', 'b')));
        if (compiled) attempt(() => compiled({ args: [values[a], values[b]], self: {} }));
      }),
      { numRuns: 10_000 },
    );
    for (const source of [
      '#order',
      '#order.sku',
      '#{#order[#b]}',
      "#{#order.sku ?: 'x'}",
      "#{'a' + #order}",
      '#{#order == #b ? #order : #b}',
    ]) {
      for (const value of values) attempt(() => resolve(source, value, value));
    }
    expect(ran).toBe(0);
  });

  it('put the encoding of a value into the key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }), (value) => {
        expect(attempt(() => resolve('k:#order', value))).toBe(`k:${encodeKeyPart(value)}`);
      }),
    );
  });

  it('end quickly for long strings and deep nesting', () => {
    const started = performance.now();
    for (const open of ["'", '"', "''", '(', '[', '#order[', '#order.', '?:', "'\\"]) {
      attempt(() => compileKeyTemplate(`#{${open.repeat(1020 / open.length)}`, site('order')));
      attempt(() => compileKeyTemplate(`#order${open.repeat(1000 / open.length)}`, site('order')));
    }
    attempt(() => resolve(`#{#order${' + #order'.repeat(110)}}`, 'x'));
    attempt(() => resolve('#order', ' '.repeat(100_000)));
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
