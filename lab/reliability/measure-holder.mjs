import { startWorker } from '../testbed/workers/processes.mjs';
import { HELD } from './faults/holders.mjs';
import { nameOf } from './roles/names.mjs';
import { serviceOptions, startService } from './roles/services.mjs';

const HOLDER = new URL('../testbed/workers/fault-worker.mjs', import.meta.url);

/**
 * The outcome for a key whose holder's process is stopped or killed: when the next waiter has it, and the view of the
 * holder.
 */
export async function measureHolder({ topology, fault, within }) {
  const service = await startService(topology.connection);
  const key = nameOf('doomed');
  const holder = await startWorker(HOLDER);
  try {
    await holder.call('start', serviceOptions(topology.connection));
    await holder.call('acquire', HELD, key, { waitTimeout: '60s' });
    const contended = new Promise((resolve) => {
      service.events.subscribe(({ type }) => type === 'contended' && resolve());
    });
    const waiting = service.acquire(key, { waitTimeout: within });
    // It may fail before it is looked at.
    waiting.catch(() => undefined);
    await contended;
    const since = performance.now();
    await fault.ofHolder(holder);
    const next = await waiting;
    const took = performance.now() - since;
    const seen = await fault.seenAfter(holder);
    const problems = seen?.isHeld ? ['`isHeld` was still true when the holder resumed'] : [];
    await next.verify();
    await next.release();
    return { waiters: took, isKept: false, failures: {}, problems };
  } finally {
    await holder.kill();
    await service.close();
  }
}
