import { answerDue, nextAnswerDue } from '../../../lib/engine/waiter.js';

describe('the time until which a call is answered', () => {
  const cases: Array<[string, number, number, number, number]> = [
    ['is its deadline', 2_000, 5_000, 720, 2_000],
    ['leaves time for the first answer', 1, 5_000, 0, 250],
    ['is not longer than a command may take', 0, 100, 720, 100],
    ['leaves time for several round trips of one try', 0, 5_000, 720, 720],
    ['is at most 300 ms after the deadline of a wait', 100, 5_000, 720, 390],
  ];
  for (const [what, waitTimeout, commandTimeout, answerTime, expected] of cases) {
    it(what, () => {
      expect(answerDue(1_000, waitTimeout, commandTimeout, answerTime)).toBe(1_000 + expected);
    });
  }
});

describe('the time until which the next of several keys is answered', () => {
  const cases: Array<[string, number, number, number, number]> = [
    ['is that of the first one', 3_000, 3_000, 0, 3_000],
    ['leaves time for one more answer', 100, 290, 150, 350],
    ['is at most 300 ms after the deadline of a wait', 100, 300, 720, 390],
  ];
  for (const [what, waitTimeout, first, answerTime, expected] of cases) {
    it(what, () => {
      const known = { since: 1_000, now: 1_200, answerBy: 1_000 + first };
      expect(nextAnswerDue(known, waitTimeout, answerTime)).toBe(1_000 + expected);
    });
  }
});
