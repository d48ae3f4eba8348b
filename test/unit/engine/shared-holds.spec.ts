import { describe, expect, it } from '@jest/globals';
import { SharedHolds } from '../../../lib/engine/shared-holds.js';
import type { SharedHold } from '../../../lib/engine/shared-hold.js';
import type { HoldMode } from '../../../lib/store/lock-store.js';

const READ: HoldMode = { kind: 'read' };

/** A shared hold that counts how often it is looked at. */
function shared(id: number) {
  const hold = {
    ...{ id: `${id}`, key: 'a', mode: READ, holds: [] },
    looks: 0,
    isClosed: false,
    isLate: false,
    close: () => void (hold.isClosed = true),
    get isOver(): boolean {
      hold.looks += 1;
      return hold.isClosed || hold.isLate;
    },
  };
  return hold;
}

const add = (holds: SharedHolds, hold: ReturnType<typeof shared>): void => holds.add(hold as unknown as SharedHold);

describe('many holds of one key', () => {
  it('do not make requests slower once their time is over', () => {
    const holds = new SharedHolds();
    const all = Array.from({ length: 1_000 }, (_, i) => shared(i));
    for (const hold of all) {
      holds.close('a', READ);
      add(holds, hold);
      hold.isLate = true;
    }
    for (let i = 0; i < 1_000; i++) holds.close('a', READ);
    expect(Math.max(...all.map(({ looks }) => looks))).toBe(1);
  });

  it('are closed for a request of another kind as long as they are open', () => {
    const holds = new SharedHolds();
    const all = Array.from({ length: 3 }, (_, i) => shared(i));
    for (const hold of all) add(holds, hold);
    holds.remove('1');
    holds.close('a', READ);
    expect(all.map(({ isClosed }) => isClosed)).toEqual([false, false, false]);
    holds.close('a', { kind: 'exclusive' });
    expect(all.map(({ isClosed }) => isClosed)).toEqual([true, false, true]);
  });
});
