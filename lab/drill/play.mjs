import { Guide } from './guide.mjs';
import { HOLDERS } from './situations/holders.mjs';
import { LOSSES } from './situations/losses.mjs';
import { MISTAKES } from './situations/mistakes.mjs';
import { QUEUES } from './situations/queues.mjs';
import { Stage } from './stage.mjs';

/** How each situation is played, by the section of the transcript that leads to its cause. */
const SITUATIONS = { ...HOLDERS, ...QUEUES, ...LOSSES, ...MISTAKES };
export const SECTIONS = Object.keys(SITUATIONS);

/** Plays a situation. Resolves to the lines of the guide whose commands and outputs it has seen. */
export async function play(section, guide = new Guide()) {
  const stage = new Stage(guide, section);
  try {
    await SITUATIONS[section](stage, await stage.server());
    return stage.lines;
  } finally {
    await stage.end();
  }
}
