import { describe, expect, it } from '@jest/globals';
import { play, QUICK } from '../../lab/drill/play.mjs';

/** Every third: `npm run drill` plays all of them, and the slow situations. */
const SOME = QUICK.filter((_situation, i) => i % 3 === 0);

describe('the transcript shows what an operator sees after', () => {
  it.each(SOME.map((each) => [each.name, each] as const))('%s', async (_name, situation) => {
    expect((await play(situation)).length).toBeGreaterThan(0);
  });
});
