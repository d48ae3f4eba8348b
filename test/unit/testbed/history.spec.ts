import { describe, expect, it } from '@jest/globals';
import { assertNoViolation, HoldHistory, type ValidHold } from '../../../lab/testbed/history/history.js';

const hold = (who: string, from: number, to: number | undefined, more: Partial<ValidHold> = {}): ValidHold => ({
  key: 'k',
  who,
  token: from,
  from: BigInt(from),
  to: to === undefined ? undefined : BigInt(to),
  ...more,
});

describe('assertNoViolation', () => {
  it('accepts holds of a key one after the other, recorded in any order, and of other keys at the same time', () => {
    assertNoViolation([hold('b', 20, 30), hold('a', 10, 20), hold('c', 30, undefined)]);
    assertNoViolation([hold('a', 10, 20), hold('b', 10, 20, { key: 'other' })]);
    assertNoViolation([]);
  });

  it.each([
    ['a hold that begins inside another', [hold('a', 10, 20), hold('b', 19, 30)]],
    ['one before another that began earlier has ended', [hold('b', 20, 30), hold('a', 10, 90)]],
    ['one after a hold that never ended', [hold('a', 10, undefined), hold('b', 1000, 1001)]],
  ])('finds %s', (_, holds) => {
    expect(() => assertNoViolation(holds)).toThrow("exclusion: two incompatible holders held 'k' at the same time");
  });

  it('lets readers share, but no writer with them', () => {
    const isShared = true;
    const readers = [hold('r1', 10, 90, { isShared }), hold('r2', 20, 30, { isShared })];
    assertNoViolation([...readers, hold('w', 90, 95)]);
    expect(() => assertNoViolation([...readers, hold('w', 80, 95)])).toThrow('readers and writers: ');
    expect(() => assertNoViolation([hold('w', 5, 15), ...readers])).toThrow('readers and writers: ');
  });

  it('counts permits', () => {
    const holds = [hold('a', 10, 30), hold('b', 15, 20), hold('c', 20, 40)];
    assertNoViolation(holds, { permits: 2 });
    expect(() => assertNoViolation(holds, { permits: 1 })).toThrow("2 of 1 permits held 'k'");
  });

  it('finds tokens that do not follow the order of the holds', () => {
    const holds = [hold('b', 20, 30, { token: 5 }), hold('a', 10, 15, { token: 5 })];
    expect(() => assertNoViolation(holds)).toThrow("tokens of 'k' do not grow: a (2) had 5; b (1) has 5");
  });
});

it('HoldHistory records each hold until its first end', () => {
  const history = new HoldHistory();
  const end = history.begin({ key: 'k', who: 'a', token: 100 });
  expect(() => assertNoViolation([...history.holds, ...history.holds])).toThrow('at the same time');
  end();
  const [{ to } = { to: undefined }] = history.holds;
  end();
  expect(history.holds[0]?.to).toBe(to);
  history.add(hold('b', 1, 2));
  assertNoViolation(history.holds);
});
