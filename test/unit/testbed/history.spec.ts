import { describe, expect, it } from '@jest/globals';
import {
  assertAtMost,
  assertNoOverlap,
  assertTokensGrow,
  HoldHistory,
  type ValidHold,
} from '../../../lab/testbed/history/history.js';

const hold = (who: string, from: number, to: number | undefined, more: Partial<ValidHold> = {}): ValidHold => ({
  key: 'k',
  who,
  from: BigInt(from),
  to: to === undefined ? undefined : BigInt(to),
  ...more,
});

describe('assertNoOverlap', () => {
  it('accepts sequential holds, recorded in any order', () => {
    assertNoOverlap([hold('b', 20, 30), hold('a', 10, 20), hold('c', 30, undefined)]);
  });

  it('accepts holds of different keys', () => {
    assertNoOverlap([hold('a', 10, 20), hold('b', 10, 20, { key: 'other' })]);
  });

  it.each([
    ['a hold that begins inside another', [hold('a', 10, 20), hold('b', 19, 30)]],
    ['one before another that began earlier has ended', [hold('b', 20, 30), hold('a', 10, 90)]],
    ['one after a hold that never ended', [hold('a', 10, undefined), hold('b', 1000, 1001)]],
  ])('finds %s', (_, holds) => {
    expect(() => assertNoOverlap(holds)).toThrow('two callers held "k" at the same time');
  });

  it('lets readers share, but no writer with them', () => {
    const isShared = true;
    const readers = [hold('r1', 10, 90, { isShared }), hold('r2', 20, 30, { isShared })];
    assertNoOverlap([...readers, hold('w', 90, 95)]);
    expect(() => assertNoOverlap([...readers, hold('w', 80, 95)])).toThrow('r1: 0.000 ms');
    expect(() => assertNoOverlap([hold('w', 5, 15), ...readers])).toThrow('w: 0.000 ms');
  });
});

describe('assertAtMost', () => {
  it('counts simultaneous holders', () => {
    const holds = [hold('a', 10, 30), hold('b', 15, 20), hold('c', 20, 40)];
    assertAtMost(2, holds);
    expect(() => assertAtMost(1, holds)).toThrow('2 callers held "k", at most 1 may');
  });
});

describe('assertTokensGrow', () => {
  it('compares with the hold before', () => {
    assertTokensGrow([hold('b', 20, 30, { token: 7 }), hold('a', 10, 15, { token: 5 })]);
    expect(() => assertTokensGrow([hold('b', 20, 30, { token: 5 }), hold('a', 10, 15, { token: 5 })])).toThrow(
      'token 5',
    );
    expect(() => assertTokensGrow([hold('a', 10, 15)])).toThrow('without a token');
  });
});

describe('HoldHistory', () => {
  it('records each hold until its first end', () => {
    const history = new HoldHistory();
    const end = history.begin({ key: 'k', who: 'a', token: 1 });
    expect(() => assertNoOverlap([...history.holds, ...history.holds])).toThrow('0.000 ms to still');
    end();
    const [{ to } = { to: undefined }] = history.holds;
    end();
    expect(history.holds[0]?.to).toBe(to);
    history.add(hold('b', 1, 2));
    assertNoOverlap(history.holds);
  });
});
