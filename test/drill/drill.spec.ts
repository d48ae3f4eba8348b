import { describe, expect, it } from '@jest/globals';
import { GOAL, minutes } from '../../lab/drill/minutes.mjs';
import { play, QUICK, SITUATIONS } from '../../lab/drill/play.mjs';

/** Every third: `npm run drill` plays all of them, and the slow situations. */
const SOME = QUICK.filter((_situation, i) => i % 3 === 0);

describe('the transcript shows what an operator sees after', () => {
  it.each(SOME.map((each) => [each.name, each] as const))('%s', async (_name, situation) => {
    expect((await play(situation)).length).toBeGreaterThan(0);
  });
});

describe('with the guide alone, it takes at most three minutes to find out', () => {
  const all = minutes();

  it('in every situation', () => {
    expect(all.map(({ section }) => section).sort()).toEqual(SITUATIONS.map(({ section }) => section).sort());
  });

  it.each(all.map((each) => [each.section, each.minutes] as const))('%s', (_section, [what, who, safe]) => {
    expect({ what, who, safe }).toEqual({
      what: expect.any(Number),
      who: expect.any(Number),
      safe: expect.any(Number),
    });
    expect(Math.max(what!, who!, safe!)).toBeLessThanOrEqual(GOAL);
  });
});
