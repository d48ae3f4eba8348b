import fc from 'fast-check';
import { ElapsedClock, type ElapsedClockParts } from '../../../lib/common/clock.js';

interface FakeTimer {
  readonly at: number;
  readonly callback: () => void;
}

/** A machine whose monotonic clock and timers stand still while it is suspended, and whose wall clock can be set. */
class FakeMachine implements ElapsedClockParts {
  /** ms for which the machine has run, and for which it was suspended, since it was started. */
  ran = 123_456.7;
  suspended = 0;
  wallShift = 1_700_000_000_000;
  /** How many ms `uptime` has in one step. */
  grain = 10;
  looks = 0;
  readonly timers = new Set<FakeTimer>();

  now = (): number => this.ran;
  wallLooks = 0;
  wall = (): number => {
    this.wallLooks += 1;
    return Math.floor(this.elapsed + this.wallShift);
  };
  uptime: (() => number) | undefined = () => {
    this.looks += 1;
    return (Math.floor(this.elapsed / this.grain) * this.grain) / 1_000;
  };

  get elapsed(): number {
    return this.ran + this.suspended;
  }

  setTimer(delay: number, callback: () => void): FakeTimer {
    const timer = { at: this.ran + delay, callback };
    this.timers.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    this.timers.delete(timer as FakeTimer);
  }

  suspend(ms: number): void {
    this.suspended += ms;
    // It takes a moment to wake up.
    this.ran += 0.03;
  }

  /** Lets time pass while the machine runs. */
  pass(ms: number): void {
    const end = this.ran + ms;
    for (;;) {
      const [first] = [...this.timers].sort((one, other) => one.at - other.at);
      if (first === undefined || first.at > end) break;
      this.ran = Math.max(this.ran, first.at);
      this.timers.delete(first);
      first.callback();
    }
    this.ran = end;
  }
}

function setUp(details: Partial<FakeMachine> = {}) {
  const machine = Object.assign(new FakeMachine(), details);
  const clock = new ElapsedClock(machine);
  const start = clock.now() - machine.elapsed;
  /** By how many ms the clock is ahead of the time that has elapsed. */
  const ahead = (): number => clock.now() - machine.elapsed - start;
  return { machine, clock, ahead };
}

const HOUR = 3_600_000;

describe('the system clock', () => {
  it.each([-HOUR, -60_000, -50, 50, 60_000, HOUR])('is not affected by a wall clock that is set by %d ms', (ms) => {
    const { machine, ahead } = setUp();
    machine.wallShift += ms;
    expect(ahead()).toBe(0);
    machine.pass(10_000);
    expect(ahead()).toBeCloseTo(0);
    machine.suspend(5_000);
    machine.wallShift += ms;
    expect(ahead()).toBeGreaterThan(-0.001);
    expect(ahead()).toBeLessThanOrEqual(20.001);
  });

  it('does not change while the wall clock is slewed', () => {
    const { machine, ahead } = setUp();
    let most = 0;
    for (let second = 0; second < 10_000; second += 1) {
      machine.pass(1_000);
      machine.wallShift += 0.5;
      most = Math.max(most, Math.abs(ahead()));
    }
    expect(most).toBeCloseTo(0, 5);
  });

  it('does not change if the clocks of two processors differ by less than a millisecond', () => {
    const machine = new FakeMachine();
    let processor = 0;
    const clock = new ElapsedClock(Object.assign(machine, { now: () => machine.ran + processor * 0.9 }));
    for (let look = 0; look < 10_000; look += 1) {
      machine.pass(7.3);
      processor = look % 2;
      machine.wallShift += look % 2 === 0 ? HOUR : -HOUR;
      clock.now();
    }
    expect(clock.suspended).toBe(0);
    machine.suspend(100);
    clock.now();
    expect(clock.suspended).toBeGreaterThanOrEqual(99);
  });

  it('reads the boot time only if it has a reason', () => {
    const { machine, clock } = setUp();
    const { looks } = machine;
    for (let i = 0; i < 1_000; i += 1) {
      machine.pass(7);
      clock.now();
    }
    expect(machine.looks).toBe(looks);
    machine.wallShift += HOUR;
    for (let i = 0; i < 1_000; i += 1) {
      machine.pass(1);
      clock.now();
    }
    expect(machine.looks).toBe(looks + 1);
  });

  it('reads the wall clock once for readings within 0.02 ms', () => {
    const { machine, clock } = setUp();
    machine.pass(1);
    const { wallLooks } = machine;
    for (let i = 0; i < 10; i += 1) {
      clock.now();
      machine.pass(0.001);
    }
    expect(machine.wallLooks).toBe(wallLooks + 1);
    machine.pass(0.02);
    clock.now();
    expect(machine.wallLooks).toBe(wallLooks + 2);
  });

  it('is at most 20 ms behind, and at most 20 ms ahead per suspension, whatever happens', () => {
    const happening = fc.oneof(
      fc.record({ what: fc.constant('pass'), ms: fc.double({ min: 0, max: 5_000, noNaN: true }) }),
      fc.record({ what: fc.constant('suspend'), ms: fc.double({ min: 0, max: 100, noNaN: true }) }),
      fc.record({ what: fc.constant('suspend'), ms: fc.double({ min: 0, max: HOUR, noNaN: true }) }),
      fc.record({ what: fc.constant('set'), ms: fc.double({ min: -HOUR, max: HOUR, noNaN: true }) }),
    );
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60, size: 'max' }), (happenings) => {
        const { machine, clock, ahead } = setUp();
        let [last, suspensions, wholeSeconds] = [0, 0, 0];
        for (const { what, ms } of happenings) {
          if (what === 'pass') machine.pass(ms);
          else if (what === 'suspend') machine.suspend(ms);
          else {
            machine.wallShift += ms;
            // The clock is read in between: a step that equals a suspension would hide it until the next look of a timer.
            machine.pass(0.03);
          }
          if (what === 'suspend') suspensions += 1;
          const now = clock.now();
          // No `expect` for each of thousands of readings: it takes longer than they do.
          if (now < last) throw new Error(`the clock went back by ${last - now} ms`);
          last = now;
          // A whole second of the boot time may have been rounded down.
          if (Number.isInteger(machine.uptime!())) wholeSeconds += 1;
          const [by, most] = [ahead(), 20.001 * suspensions + 1_000 * wholeSeconds];
          if (by < -20.001 || by > most) throw new Error(`the clock is ${by} ms ahead, more than ${most} ms or behind`);
        }
      }),
      // Shrinking can take minutes.
      { endOnFailure: true, numRuns: 500 },
    );
  });

  it('detects a suspension that the wall clock hides within a second, if a timer is set', () => {
    const { machine, clock, ahead } = setUp();
    let called = 0;
    clock.setTimer(60_000, () => (called += 1));
    machine.suspend(HOUR);
    machine.wallShift -= HOUR;
    machine.pass(1_001);
    expect(called).toBe(1);
    expect(ahead()).toBeGreaterThanOrEqual(0);
  });

  it('counts suspensions of seconds if the boot time has whole seconds, and nothing else', () => {
    const { machine, ahead } = setUp({ grain: 1_000 });
    for (let i = 0; i < 1_000; i += 1) {
      machine.pass(777.7);
      machine.wallShift += i % 2 === 0 ? HOUR : -HOUR;
      expect(ahead()).toBeCloseTo(0);
    }
    machine.suspend(3_000);
    expect(ahead()).toBeGreaterThanOrEqual(0);
    expect(ahead()).toBeLessThanOrEqual(3_000);
  });

  it('counts nothing if Node temporarily falls back to whole seconds', () => {
    const { machine, ahead } = setUp();
    for (let i = 0; i < 1_000; i += 1) {
      machine.grain = i % 3 === 0 ? 10 : 1_000;
      machine.pass(777.7);
      machine.wallShift += i % 2 === 0 ? HOUR : -HOUR;
      expect(ahead()).toBeCloseTo(0);
    }
  });

  it('counts a suspension that ends at a whole second of the boot time', () => {
    const { machine, ahead } = setUp();
    machine.pass(50);
    machine.suspend(1_005 - (machine.elapsed % 1_000));
    expect(Number.isInteger(machine.uptime!())).toBe(true);
    expect(ahead()).toBeGreaterThanOrEqual(0);
  });

  it('counts a suspension soon after a first look at a whole second of the boot time', () => {
    const { machine, clock, ahead } = setUp({ ran: 5_000 });
    machine.pass(11);
    clock.now();
    machine.suspend(100);
    expect(ahead()).toBeGreaterThanOrEqual(0);
    expect(ahead()).toBeLessThanOrEqual(20);
  });

  it('adds nothing if the monotonic clock counts suspensions itself', () => {
    const { machine, clock } = setUp({ uptime: undefined });
    machine.ran += HOUR;
    machine.wallShift += HOUR;
    expect(clock.now()).toBe(machine.now());
    expect(clock.suspended).toBe(0);
  });
});

describe('a timer of the system clock', () => {
  it('fires once, after its time', () => {
    const { machine, clock } = setUp();
    const called: number[] = [];
    const start = machine.elapsed;
    for (const delay of [2_500, 10, 0, 1_001.5]) clock.setTimer(delay, () => called.push(machine.elapsed - start));
    machine.pass(60_000);
    [0, 10, 1_001.5, 2_500].forEach((delay, i) => expect(called[i]).toBeCloseTo(delay));
    expect(called).toHaveLength(4);
    expect(machine.timers.size).toBe(0);
  });

  it('does not fire after it is cleared, at any point', () => {
    const { machine, clock } = setUp();
    const timer = clock.setTimer(2_500, () => expect('called').toBe('never'));
    machine.pass(1_700);
    clock.clearTimer(timer);
    clock.clearTimer(timer);
    clock.clearTimer(undefined);
    expect(machine.timers.size).toBe(0);
    machine.pass(10_000);
  });

  it('wakes a process at most once a second, and not without a timer', () => {
    const { machine, clock } = setUp();
    const { looks } = machine;
    const timer = clock.setTimer(HOUR, () => undefined);
    machine.pass(10_000);
    expect(machine.looks - looks).toBe(10);
    clock.clearTimer(timer);
    expect(machine.timers.size).toBe(0);
  });

  it('fires within a second after the resume if its time has passed in the meantime', () => {
    const { machine, clock } = setUp();
    let called = 0;
    clock.setTimer(60_000, () => (called += 1));
    machine.pass(500);
    machine.suspend(HOUR);
    machine.pass(501);
    expect(called).toBe(1);
    expect(machine.timers.size).toBe(0);
  });

  it('fires as soon as the suspension is noticed', () => {
    const { machine, clock } = setUp();
    const called: string[] = [];
    clock.setTimer(60_000, () => called.push('over'));
    clock.setTimer(2 * HOUR, () => called.push('not over'));
    machine.suspend(HOUR);
    clock.now();
    expect(called).toEqual([]);
    machine.pass(1);
    expect(called).toEqual(['over']);
    machine.pass(HOUR - 1_000);
    expect(called).toEqual(['over']);
    machine.pass(1_000);
    expect(called).toEqual(['over', 'not over']);
  });

  it('continues if a callback throws, sets a timer or clears one', () => {
    const { machine, clock } = setUp();
    const called: string[] = [];
    clock.setTimer(5, () => {
      throw new Error('failed');
    });
    const cleared = clock.setTimer(20, () => called.push('cleared'));
    clock.setTimer(10, () => {
      clock.clearTimer(cleared);
      clock.setTimer(10, () => called.push('set'));
    });
    expect(() => machine.pass(5)).toThrow('failed');
    machine.pass(100);
    expect(called).toEqual(['set']);
  });

  it('can wait longer than a timer of Node', () => {
    const { machine, clock } = setUp();
    let called = false;
    clock.setTimer(2 ** 33, () => (called = true));
    for (const timer of machine.timers) expect(timer.at - machine.now()).toBeLessThanOrEqual(2 ** 31 - 1);
    machine.suspend(2 ** 33 - 2_000);
    machine.pass(1_500);
    expect(called).toBe(false);
    machine.pass(500);
    expect(called).toBe(true);
  });
});
