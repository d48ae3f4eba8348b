import { clock, visible } from './format.js';

/** So many refreshes may fail to arrive, and so many ms more, before what is shown counts as old. */
const MISSED = 3;
const GRACE = 2_000;

/**
 * What the page knows of its data. `stale`: '' if they are live, otherwise what is out of date: 'redis' (the locks), or
 * 'all'. `age`: the time since the locks were read.
 */
export function newsOf({ last, told, way, now }) {
  if (last === undefined) return { stale: '', age: 0, status: undefined };
  const silence = now - told;
  const { trouble } = last.locks;
  const age = (last.locks.age ?? 0) + silence;
  if (way.name === 'offline' || silence > MISSED * last.refresh + GRACE) {
    const what = `The application has not answered since ${since(silence)}.`;
    return { stale: 'all', age, status: way.error, notice: `${what} Everything below is from then.` };
  }
  if (trouble === undefined) return { stale: '', age };
  const read = last.locks.age === undefined ? 'Nothing was read before.' : 'The locks below are from then.';
  return {
    stale: 'redis',
    age,
    status: 'No data from Redis',
    notice: `No data from Redis since ${since(trouble.for + silence)}. ${read} ${visible(trouble.message)}`,
  };
}

/** The times of two states differ a little. The text stays the same, so that screen readers do not repeat it. */
let lastAnswer = 0;

function since(ms) {
  const at = Date.now() - ms;
  if (Math.abs(at - lastAnswer) > 1_500) lastAnswer = at;
  return clock(lastAnswer);
}
