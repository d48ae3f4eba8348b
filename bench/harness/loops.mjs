import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Histogram } from './statistics.mjs';
import { now } from './shared-state.mjs';

/**
 * One section in this many lasts for a turn of the event loop, so that other callers could overlap if the lock were
 * broken.
 */
const LONGER = 8;

/** More readers than there are callers; a writer has the weight of all of them. */
const READERS = 10_000;

/**
 * What the caller with this index asks for, by the mode of the scenario, and how much of the key it has then. Without a
 * mode all of it.
 */
function requestOf(i, { mode, permits }) {
  if (mode === 'permit') return { kind: 'permit', permits, share: { weight: 1, limit: permits } };
  if (mode === 'read') return { kind: 'read', share: { weight: 1, limit: READERS } };
  // One of the callers of each process writes.
  if (mode === 'readWrite' && i > 0) return { kind: 'read', share: { weight: 1, limit: READERS } };
  if (mode === 'readWrite') return { kind: 'write', share: { weight: READERS, limit: READERS } };
  return {};
}

/** The work of a thread until the measurement ends. Every recorded section ended between the start and the stop. */
export const LOOPS = { contend, cycle, fill };

/** Acquires and releases keys of its own for `ms`, one after the other. */
export async function warm({ client, slot, ms, ...terms }) {
  const { share: _, ...request } = requestOf(0, terms);
  const more = request.kind === undefined ? [] : [request];
  const end = now() + ms;
  for (let count = 0; now() < end; count++) {
    const handle = await client.acquire(`warm:${slot}:${count}`, ...more);
    if (handle !== undefined) await client.release(handle);
  }
}

/** Each section of callers with many keys is of one of these, chosen at random. */
const anyOf = (key, keys) => {
  const index = Math.floor(Math.random() * keys);
  return { index, name: `${key}:${index}` };
};

/**
 * `waiters` callers of this thread compete with all others for one key, or each time for one of `keys` at random. Gaps
 * are those of a single key.
 */
async function contend({ client, state, key, keys, waiters, sectionMs = 0, pauseMs = 0, ...terms }) {
  const sections = new Float64Array(waiters);
  const waits = new Histogram();
  const gaps = new Histogram();
  let [gaveUp, unserved, count] = [0, 0, 0];

  const wait = async (name, request) => {
    const asked = now();
    state.beginWaiting();
    let handle;
    // A caller that timed out requests the lock again. Its wait counts from the first request.
    while ((handle = await client.acquire(name, ...request)) === undefined && !state.isOver)
      if (state.isMeasuring) gaveUp++;
    const gap = state.sinceRelease;
    state.endWaiting();
    return { asked, handle, gap };
  };

  const record = (i, { asked, gap }) => {
    if (state.isMeasuring) {
      waits.add(now() - asked);
      sections[i]++;
      if (keys === undefined && gap >= 0) gaps.add(gap);
    } else if (state.isOver && asked < state.stopped) {
      // It was served only because the others have stopped.
      waits.add(state.stopped - asked);
      unserved++;
    }
  };

  const caller = async (i) => {
    const { share, ...request } = requestOf(i, terms);
    const more = request.kind === undefined ? [] : [request];
    while (!state.isOver) {
      const { index, name } = keys === undefined ? { name: key } : anyOf(key, keys);
      const turnOf = await wait(name, more);
      if (turnOf.handle === undefined) return record(i, turnOf);
      const counter = state.enter(share, index);
      record(i, turnOf);
      if (sectionMs > 0) await sleep(sectionMs);
      else if (++count % LONGER === 0) await turn();
      state.leave(counter, share, index);
      state.noteRelease();
      await client.release(turnOf.handle);
      if (pauseMs > 0 && !state.isOver) await sleep(pauseMs);
    }
  };

  await Promise.all(Array.from({ length: waiters }, (_, i) => caller(i)));
  return { sections, waits, gaps, gaveUp, unserved };
}

/** How many keys this thread has used. Each is used once, also in the next measurement. */
let used = 0;

async function acquireFresh(client, slot) {
  const handle = await client.acquire(`fresh:${slot}:${++used}`);
  if (handle === undefined) throw new Error('a fresh key was held');
  return handle;
}

/** `callers` at a time acquire and release uncontended keys. */
async function cycle({ client, state, slot, callers }) {
  const cycles = new Histogram();
  const caller = async () => {
    while (!state.isOver) {
      const began = now();
      const handle = await acquireFresh(client, slot);
      await client.release(handle);
      if (state.isMeasuring) cycles.add(now() - began);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { cycles };
}

/** `callers` at a time acquire `held` uncontended keys, and then release all of them. */
async function fill({ client, state, slot, callers, held }) {
  const cycles = new Histogram();
  const together = (caller) => Promise.all(Array.from({ length: callers }, caller));
  while (!state.isOver) {
    const locks = [];
    let left = held;
    await together(async () => {
      while (left-- > 0 && !state.isOver) {
        const began = now();
        const handle = await acquireFresh(client, slot);
        locks.push({ handle, took: now() - began });
      }
    });
    await together(async () => {
      for (let lock = locks.pop(); lock !== undefined; lock = locks.pop()) {
        const began = now();
        await client.release(lock.handle);
        if (state.isMeasuring) cycles.add(lock.took + now() - began);
      }
    });
  }
  return { cycles };
}
