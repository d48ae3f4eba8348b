import { HeldLock } from '../../../lib/service/handles/held-lock.js';
import { TIMES } from '../schedule/schedule.js';
import { passGate } from './gates.js';
import { handOver } from './handovers.js';
import type { ObservedHold } from '../checker/observed-hold.js';
import type { Held, Caller } from './caller.js';

/** The action of a holder in the middle of its section; `held` are the locks that it has to release afterwards. */
export async function act(caller: Caller, held: Held): Promise<void> {
  try {
    await perform(caller, held);
  } catch (error) {
    // The holder continues and releases its locks.
    caller.refused(error);
  }
}

async function perform(caller: Caller, { handles, observedHolds }: Held): Promise<void> {
  const { visit, process, run } = caller;
  const [handle] = handles as [(typeof handles)[number]];
  switch (visit.act) {
    case 'nothing':
    case 'release in background': // at the end of the section
      return;
    case 'verify':
      return handle.verify();
    case 'assert':
      return handle.assertHeld();
    case 'extend':
      return handle.extend(2 * TIMES.lease);
    case 'shrink':
      return handle.extend(TIMES.lease / 4);
    case 'inspect':
      await process.engine.inspect(handle.key);
      return;
    case 'latch':
      return passGate(caller);
    case 'reenter': {
      // As the scope does that it is in.
      const again = new HeldLock(handle.holds[0]!, process.engine);
      await process.sleep(1);
      await again.release();
      return;
    }
    case 'again': {
      if (visit.owner === undefined || visit.kind === 'permits') return;
      const again = await caller.take([handle.key], { ...caller.terms(), fair: false }, visit.waitTimeout);
      await process.sleep(1);
      return caller.releaseAll(again);
    }
    case 'downgrade': {
      if (handle.kind !== 'exclusive') return;
      const terms = { ...caller.terms(), mode: { kind: 'read' }, owner: handle.owner, fair: false } as const;
      const reading = await caller.take([handle.key], terms, visit.waitTimeout);
      await caller.releaseAll({ handles: handles.splice(0, 1), observedHolds: observedHolds.splice(0, 1) });
      handles.push(...reading.handles);
      observedHolds.push(...reading.observedHolds);
      return;
    }
    case 'hand over': {
      if (handles.length > 1 || visit.owner !== undefined || visit.holdAtLeast > 0) return; // refused
      const [{ hold }] = observedHolds as [ObservedHold];
      if (!handle.isHeld || !hold.grant.isOnly(hold)) return;
      const offered = handOver(caller, observedHolds[0]!);
      handles.pop();
      observedHolds.pop();
      return offered;
    }
    case 'abandon':
      for (const { hold } of observedHolds) {
        process.engine.watchdog.abandon(hold);
        run.trace(() => `${process.name} forgets that it has ${hold.key} (${hold.id})`);
      }
  }
}
