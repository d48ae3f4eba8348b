// A process with one lock service of the built library. Errors that escape as an unhandled rejection or exception, and
// would end any other process, are reported with `escaped`.
import { createLockService } from '../../../dist/esm/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../../dist/esm/module/redis-lock.options.js';
import { nextResume } from '../clocks/suspended-clock.mjs';
import { started } from '../wait/started.mjs';
import { viewOf } from './holder-view.mjs';
import { serve, tell } from './worker-kit.mjs';

const escaped = [];
process.on('unhandledRejection', (reason) => escaped.push(`unhandled rejection: ${String(reason)}`));
process.on('uncaughtException', (error) => escaped.push(`uncaught exception: ${String(error)}`));

const lines = [];
const say = (level) => (text) => void lines.push(`${level} ${text}`);
const logger = { debug: say('debug'), log: say('log'), warn: say('warn'), error: say('error') };

let service;
const handles = new Map();

/** Announces a spin, and resolves when that is out, since a busy process sends nothing: to when it began. */
async function announceSpinning() {
  // The time before the message: a reader of the message may stop this process before it gets any further.
  const start = performance.now();
  await tell('spinning');
  return start;
}

/**
 * Busy until `lease` ms after `start` at least, and until the process has been stopped and continued; `false` when that
 * does not happen within `limit` ms.
 */
function spinUntilStopped(start, lease, limit) {
  let longestGap = 0;
  for (let last = start; last - start < limit;) {
    const now = performance.now();
    longestGap = Math.max(longestGap, now - last);
    if (now - start >= lease && longestGap >= 100) return true;
    last = now;
  }
  return false;
}

serve({
  async start(options) {
    service = createLockService(resolveModuleOptions(options), logger);
    await started(service);
  },
  async acquire(name, key, options) {
    const handle = await service.acquire(key, options);
    handles.set(name, handle);
    handle.onLost(() => tell('lost', { name }));
    tell('acquired', { name });
    return { token: handle.fencingToken, ...viewOf(handle) };
  },
  release: (name) => handles.get(name).release(),
  verify: (name) => handles.get(name).verify(),
  view: (name) => viewOf(handles.get(name)),
  /** Looks on the first line after the next resume of a suspended machine, before the event loop has done anything. */
  async viewAfterResume(name) {
    // The time before the message: a reader of the message may suspend and resume this process before it gets any further.
    const waitForResume = nextResume();
    await tell('ready to be suspended');
    waitForResume();
    return viewOf(handles.get(name));
  },
  async stallInHand(lease, limit, name) {
    const handle = handles.get(name);
    const stopped = spinUntilStopped(await announceSpinning(), lease, limit);
    return { stopped, ...viewOf(handle) };
  },
  /** Holds and waits, and causes every error that can be thrown where no code catches it. */
  async holdCarelessly(keys, options) {
    for (const key of keys) {
      const handle = await service.acquire(key, {
        ...options,
        onLost: () => {
          throw new Error('onLost throws');
        },
      });
      void handle.signal;
      handles.set(key, handle);
    }
  },
  async holdWithAsyncListener(key, options) {
    const onLost = async () => {
      throw new Error('asynchronous onLost rejects');
    };
    handles.set(key, await service.acquire(key, { ...options, onLost }));
  },
  escaped: () => escaped,
  lines: () => lines,
  close: () => service.close(),
});
