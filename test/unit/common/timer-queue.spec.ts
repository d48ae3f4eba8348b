import fc from 'fast-check';
import { TimerQueue, type TimerEntry } from '../../../lib/common/timer-queue.js';
import { FakeClock } from '../../../lab/testbed/clocks/fake-clock.js';

function setUp() {
  const clock = new FakeClock();
  const kept: Array<[name: string, at: number]> = [];
  const timers = new TimerQueue(clock);
  const add = (name: string, delay: number): TimerEntry =>
    timers.add(clock.now() + delay, () => void kept.push([name, clock.now() - 1_000]));
  return { clock, timers, kept, add };
}

describe('the timer queue', () => {
  it('needs one timer at most, and none without entries', () => {
    const { clock, timers, add } = setUp();
    expect(clock.timers.size).toBe(0);
    for (let i = 0; i < 50; i++) {
      add('', 100 - i);
      expect(clock.timers.size).toBe(1);
    }
    clock.advance(100);
    expect(clock.timers.size).toBe(0);
    add('', 5);
    timers.close();
    expect(clock.timers.size).toBe(0);
  });

  it('lets the event loop go on while many entries are due, and keeps their order', () => {
    const { clock, timers } = setUp();
    const order: number[] = [];
    // Each takes a fifth of a millisecond.
    const work = (i: number) => (): void => {
      order.push(i);
      clock.stall(0.2);
    };
    for (let i = 0; i < 1_000; i++) timers.add(clock.now() + i / 1_000, work(i));
    clock.advance(2);
    expect(order.length).toBeGreaterThan(0);
    expect(order.length).toBeLessThan(50);
    clock.advance(1_000);
    expect(order).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });

  it('keeps no timer for entries that are cancelled after it was closed', () => {
    const { clock, add, timers, kept } = setUp();
    timers.close();
    const [one, other] = [add('one', 5), add('other', 7)];
    timers.cancel(one);
    expect(clock.timers.size).toBe(1);
    timers.cancel(other);
    expect(clock.timers.size).toBe(0);
    add('due', 5);
    clock.advance(5);
    expect(kept).toEqual([['due', 5]]); // prettier-ignore
  });

  it('keeps the other entries if one throws', () => {
    const { clock, kept, timers, add } = setUp();
    timers.add(clock.now() + 5, () => {
      throw new Error('failed');
    });
    add('later', 10);
    add('at the same time', 5);
    expect(() => clock.advance(5)).toThrow('failed');
    clock.advance(5);
    expect(kept.map(([name]) => name).sort()).toEqual(['at the same time', 'later']);
  });

  it('lets entries add, move and cancel others', () => {
    const { clock, kept, timers, add } = setUp();
    const doomed = add('doomed', 5);
    const moved = add('moved', 50);
    timers.add(clock.now() + 4, () => {
      timers.cancel(doomed);
      timers.move(moved, clock.now() + 1);
      add('added', 3);
      add('past', -100);
    });
    clock.advance(100);
    expect(kept).toEqual([['past', 4], ['moved', 5], ['added', 7]]); // prettier-ignore
  });

  it('behaves like a plain list for random operations', () => {
    const delay = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: -5, max: 300 }) }, fc.constant(Infinity));
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ what: fc.constant('add' as const), delay }) },
      { weight: 2, arbitrary: fc.record({ what: fc.constant('move' as const), which: fc.nat(60), delay }) },
      { weight: 2, arbitrary: fc.record({ what: fc.constant('cancel' as const), which: fc.nat(60) }) },
      { weight: 1, arbitrary: fc.record({ what: fc.constant('pass' as const), ms: fc.nat(40) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const clock = new FakeClock();
        const timers = new TimerQueue(clock);
        const appointments: TimerEntry[] = [];
        const due = new Map<number, number>();
        let kept: string[] = [];
        for (const step of steps) {
          if (step.what === 'add') {
            const number = appointments.length;
            const at = clock.now() + step.delay;
            appointments.push(timers.add(at, () => void kept.push(`${number} at ${clock.now()}`)));
            due.set(number, Math.max(at, clock.now() + 1));
          } else if (step.what === 'pass') {
            const end = clock.now() + step.ms;
            const expected = [...due].filter(([, at]) => at <= end).map(([number, at]) => `${number} at ${at}`);
            for (const [number, at] of due) if (at <= end) due.delete(number);
            clock.advance(step.ms);
            expect(kept.sort()).toEqual(expected.sort());
            kept = [];
          } else if (appointments.length > 0) {
            const number = step.which % appointments.length;
            if (step.what === 'cancel') {
              timers.cancel(appointments[number]);
              due.delete(number);
            } else {
              timers.move(appointments[number]!, clock.now() + step.delay);
              due.set(number, Math.max(clock.now() + step.delay, clock.now() + 1));
            }
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
