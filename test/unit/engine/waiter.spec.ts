import { replyDue, nextReplyDue } from '../../../lib/engine/waiter.js';

describe('the time until which a call is answered', () => {
  const cases: Array<[string, number, number, number, number]> = [
    ['is its deadline', 2_000, 5_000, 720, 2_000],
    ['leaves time for the first reply', 1, 5_000, 0, 250],
    ['is not longer than a command may take', 0, 100, 720, 100],
    ['leaves time for several round trips of one try', 0, 5_000, 720, 720],
    ['is at most 300 ms after the deadline of a wait', 100, 5_000, 720, 390],
  ];
  for (const [what, waitTimeout, commandTimeout, replyTime, expected] of cases) {
    it(what, () => {
      expect(replyDue(1_000, waitTimeout, commandTimeout, replyTime)).toBe(1_000 + expected);
    });
  }
});

describe('the time until which the next of several keys is answered', () => {
  const cases: Array<[string, number, number, number, number]> = [
    ['is that of the first one', 3_000, 3_000, 0, 3_000],
    ['leaves time for one more reply', 100, 290, 150, 350],
    ['is at most 300 ms after the deadline of a wait', 100, 300, 720, 390],
    ['leaves one try the time of another first reply', 0, 250, 0, 450],
    ['leaves one try time for several round trips', 0, 400, 400, 600],
    ['is not longer for one try than a command may take', 0, 720, 900, 1_000],
  ];
  for (const [what, waitTimeout, first, replyTime, expected] of cases) {
    it(what, () => {
      const known = { since: 1_000, now: 1_200, replyBy: 1_000 + first };
      expect(nextReplyDue(known, waitTimeout, 1_000, replyTime)).toBe(1_000 + expected);
    });
  }
});
