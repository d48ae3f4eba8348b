import { assertNoViolation, type ValidHold } from '../../../lab/testbed/history/history.js';

const hold = (who: string, from: number, to: number, token = from): ValidHold => ({ key: 'k', who, token, from, to });
const holds = [hold('b', 15, 20), hold('a', 10, 30), hold('c', 20, 40)];

it('holds one after the other, in any order, and of other keys at the same time, break no rule', () => {
  assertNoViolation([hold('b', 20, 30), hold('a', 10, 20), { ...hold('a', 10, 20), key: 'other' }]);
  assertNoViolation(holds, { permits: 2 });
  assertNoViolation([]);
});

it('names the rule that holds break, and the holds', () => {
  expect(() => assertNoViolation(holds)).toThrow(
    "exclusion: two incompatible holders held 'k' at the same time: a (2)",
  );
  expect(() => assertNoViolation(holds, { permits: 1 })).toThrow("2 of 1 permits held 'k'");
  const [one, other] = [hold('b', 20, 30, 5), hold('a', 10, 15, 5)];
  expect(() => assertNoViolation([one, other])).toThrow("tokens of 'k' do not grow: a (2) had 5; b (1) has 5");
});
