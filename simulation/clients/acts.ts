import { TIMES } from '../schedule/schedule.js';
import { handOver } from './handovers.js';
import type { Held, Visitor } from './visitor.js';

/** The action of a holder in the middle of its section; `held` are the locks that it has to release afterwards. */
export async function act(visitor: Visitor, held: Held): Promise<void> {
  try {
    await perform(visitor, held);
  } catch (error) {
    // The holder continues and releases its locks.
    visitor.refused(error);
  }
}

async function perform(visitor: Visitor, { handles, beliefs }: Held): Promise<void> {
  const { visit, process, surroundings } = visitor;
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
    case 'reenter': {
      // As the scope does that it is in.
      const again = handle.reenter();
      await process.sleep(1);
      await again.release();
      return;
    }
    case 'again': {
      if (visit.owner === undefined || visit.kind === 'permits') return;
      const again = await visitor.take([handle.key], { ...visitor.terms(), fair: false }, visit.waitTimeout);
      await process.sleep(1);
      return visitor.giveBack(again);
    }
    case 'downgrade': {
      if (handle.type !== 'exclusive') return;
      const terms = { ...visitor.terms(), mode: { kind: 'read' }, owner: handle.owner, fair: false } as const;
      const reading = await visitor.take([handle.key], terms, visit.waitTimeout);
      await visitor.giveBack({ handles: handles.splice(0, 1), beliefs: beliefs.splice(0, 1) });
      handles.push(...reading.handles);
      beliefs.push(...reading.beliefs);
      return;
    }
    case 'hand over': {
      if (handles.length > 1 || visit.owner !== undefined || visit.holdAtLeast > 0) return; // refused
      if (!handle.isHeld) return;
      const offered = handOver(visitor, beliefs[0]!);
      handles.pop();
      beliefs.pop();
      return offered;
    }
    case 'abandon':
      for (const { hold } of beliefs) {
        process.engine.abandon(hold);
        surroundings.trace(() => `${process.name} forgets that it has ${hold.key} (${hold.id})`);
      }
  }
}
