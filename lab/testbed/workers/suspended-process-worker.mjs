// A process with one lock service of the built library, on a machine that a test suspends (`suspended-machine.mjs`).
import { createLockService } from '../../../dist/esm/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../../dist/esm/module/redis-lock.options.js';
import { nextResume } from '../clocks/suspended-clock.mjs';
import { started } from '../wait/started.mjs';
import { viewOf } from './holder-view.mjs';
import { serve, tell } from './worker-kit.mjs';

const silent = { debug() {}, log() {}, warn() {}, error() {} };
const handles = new Map();
let service;
let election;

/** Looks on the first line after the next resume, before the event loop has done anything. */
async function onFirstLine(look) {
  // The time before the message: a reader of the message may suspend and resume this process before it gets any
  // further.
  const waitForResume = nextResume();
  await tell('ready to be suspended');
  waitForResume();
  return look();
}

serve({
  async start(options) {
    service = createLockService(resolveModuleOptions({ shutdownTimeout: 0, ...options }), silent);
    await started(service);
  },
  async acquire(name, key, options) {
    const handle = await service.acquire(key, options);
    handles.set(name, handle);
    handle.onLost(() => tell('lost', { name }));
    tell('acquired', { name });
    return { token: handle.fencingToken, ...viewOf(handle) };
  },
  view: async (name) => viewOf(handles.get(name)),
  viewAfterResume: (name) => onFirstLine(() => viewOf(handles.get(name))),
  verify: (name) => handles.get(name).verify(),
  release: (name) => handles.get(name).release(),
  async stand(key) {
    election = service.getLeaderElection(key, { onElected: () => tell('elected'), onDeposed: () => tell('deposed') });
    election.start();
  },
  leadsAfterResume: () => onFirstLine(() => election.isLeader),
  async close() {
    await service.close();
  },
});
