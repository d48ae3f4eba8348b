import { Guide } from './guide.mjs';
import { HOLDERS } from './situations/holders.mjs';
import { LOSSES } from './situations/losses.mjs';
import { MISTAKES } from './situations/mistakes.mjs';
import { QUEUES } from './situations/queues.mjs';
import { Stage } from './stage.mjs';

/** All situations: what has happened, the section of the guide that leads to the cause, and how it is played. */
export const SITUATIONS = [...HOLDERS, ...QUEUES, ...LOSSES, ...MISTAKES];

/** Plays a situation. Resolves to the lines of the guide whose commands and outputs it has seen. */
export async function play({ section, script }, guide = new Guide()) {
  const stage = new Stage(guide, section);
  try {
    await script(stage, await stage.server());
    return stage.lines;
  } finally {
    await stage.end();
  }
}
