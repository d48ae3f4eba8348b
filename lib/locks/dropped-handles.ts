import { TransientMap } from '../common/transient.js';
import type { Hold } from '../engine/hold.js';
import type { LockEngine } from '../engine/lock-engine.js';

/** After how many ms a handle counts as one that somebody may have dropped. */
const GROWN_UP = 1_000;

interface Guarded {
  readonly hold: Hold;
  readonly engine: LockEngine;
}

/** Their locks are not renewed for ever. */
const registry = new FinalizationRegistry<Guarded>(({ hold, engine }) => {
  if (--hold.handles === 0) engine.abandon(hold);
});

/**
 * Handles that are too young to have been dropped. To be registered costs as much as all else that the client does for
 * an acquisition, and most are released before it comes to that.
 */
let young = new TransientMap<object, Guarded>();
let timer: NodeJS.Timeout | undefined;

/** Has it found out when `handle` is collected before it was released. */
export function guardAgainstDropping(handle: object, guarded: Guarded): void {
  young.set(handle, guarded);
  timer ??= setTimeout(register, GROWN_UP).unref();
}

/** It has been released. */
export function unguard(handle: object): void {
  if (!young.delete(handle)) registry.unregister(handle);
}

function register(): void {
  for (const [handle, guarded] of young.entries()) registry.register(handle, guarded, handle);
  young = new TransientMap();
  timer = undefined;
}
