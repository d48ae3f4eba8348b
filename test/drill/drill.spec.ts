import { describe, expect, it } from '@jest/globals';
import { play, QUICK } from '../../drill/play.mjs';

describe('the guide on troubleshooting shows what an operator sees after', () => {
  // npm run drill plays the slow ones, too.
  it.each(QUICK.map((each) => [each.name, each] as const))('%s', async (_name, situation) => {
    expect((await play(situation)).length).toBeGreaterThan(0);
  });
});
