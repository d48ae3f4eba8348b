import { holdOf, Observer, FakeClock, settled } from './support.js';

function setUp(options: Parameters<typeof holdOf>[1] = {}) {
  const clock = new FakeClock();
  const observer = new Observer();
  const hold = holdOf(clock, { observer, ...options });
  const ask = (lease: number) => hold.grant.lease.ask(clock.now(), 0, lease);
  const answer = (left: number, request = ask(0)) => hold.grant.replied(request, left);
  return { clock, observer, hold, ask, answer };
}

describe('a hold', () => {
  it('is valid for its lease, minus the margin', () => {
    const { clock, hold } = setUp({ terms: { lease: 1_000 } });
    expect(hold.remaining).toBe(988);
    clock.stall(987);
    expect(hold.isHeld).toBe(true);
    clock.stall(1);
    expect(hold.isHeld).toBe(false);
    expect(hold.remaining).toBe(0);
  });

  it('has no less than 0 ms left if the process stalls while they are read', () => {
    /** Stalls for `stalls` ms after each reading. */
    class StallingClock extends FakeClock {
      stalls = 0;
      override now(): number {
        const time = super.now();
        this.stall(this.stalls);
        return time;
      }
    }
    const clock = new StallingClock();
    const hold = holdOf(clock, { terms: { lease: 1_000 } });
    clock.stalls = 2_000;
    expect(hold.remaining).toBe(0);
  });

  it('reports its loss on the first look after a stall: state, signal, listeners, then observers', async () => {
    const { clock, hold, observer } = setUp({ terms: { lease: 1_000 } });
    const order: string[] = [];
    hold.signal.addEventListener('abort', () => order.push(`signal of what is ${hold.state}`));
    hold.onLost(() => order.push(`listener, aborted: ${hold.signal.aborted}`));
    clock.stall(5_000);
    expect(() => hold.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST', key: 'a' }));
    expect(order).toEqual(['signal of what is lost', 'listener, aborted: true']);
    expect(observer.told).toEqual([]);
    await settled();
    expect(observer.told).toHaveLength(1);
    expect(hold.signal.reason).toBe(hold.loss);
  });

  it('reports its loss once', async () => {
    const { clock, hold, observer } = setUp();
    clock.stall(40_000);
    hold.lose('forced');
    hold.lose('unknown');
    expect(hold.isHeld).toBe(false);
    await settled();
    expect(observer.told).toEqual([expect.stringContaining('it was released by force')]);
    // A signal that is asked for only now.
    expect(hold.signal).toMatchObject({ aborted: true, reason: hold.loss });
  });

  it('ends with its release, which is not a loss', () => {
    const { clock, hold, observer } = setUp();
    expect(hold.end()).toBe(true);
    expect(hold.isHeld).toBe(false);
    expect(() => hold.assertHeld()).toThrow('it has been released');
    clock.stall(40_000);
    expect(hold.isHeld).toBe(false);
    expect(observer.told).toEqual([]);
    expect(hold.signal.aborted).toBe(false);
  });

  it('is valid for longer after a renewal, counted from the request', () => {
    const { clock, hold, ask, answer } = setUp({ terms: { lease: 1_000 } });
    clock.stall(500);
    const request = ask(1_000);
    clock.stall(300);
    answer(1_000, request);
    hold.renewed(request);
    expect(hold.remaining).toBe(688);
  });

  it('is not revived by a late confirmation', () => {
    const { clock, hold, ask, answer } = setUp({ terms: { lease: 1_000 } });
    clock.stall(900);
    const request = ask(1_000);
    clock.stall(90);
    expect(hold.isHeld).toBe(false);
    answer(1_000, request);
    expect(hold.isHeld).toBe(false);
    expect(hold.remaining).toBe(0);
  });

  it('grows by a longer lease only after its confirmation', () => {
    const { hold, ask, answer } = setUp({ terms: { lease: 1_000 } });
    const request = ask(60_000);
    expect(hold.remaining).toBe(988);
    answer(60_000, request);
    hold.extended(request);
    expect(hold.remaining).toBe(59_398);
    expect(hold.lastLease).toBe(60_000);
  });

  it('is not changed by a shorter lease', () => {
    const { clock, hold, ask, answer } = setUp();
    clock.stall(10);
    const request = ask(1_000);
    answer(29_990, request);
    hold.extended(request);
    expect([hold.remaining, hold.lastLease]).toEqual([29_688, 30_000]);
  });

  it('relies on no more than it was promised, whatever the lease of its grant', () => {
    const { clock, hold, answer } = setUp({ terms: { lease: 10_000 } });
    clock.stall(1_000);
    expect(answer(60_000)).toBe('confirmed');
    expect(hold.remaining).toBe(8_898);
    // What the store has is still a limit.
    expect(answer(2_000)).toBe('lowered');
    expect(hold.remaining).toBe(1_978);
  });

  it('lacks what a server has missed: an extension, a renewal', () => {
    for (const lease of [30_000, 60_000]) {
      const { clock, hold, ask, answer } = setUp();
      const request = ask(lease);
      answer(lease, request);
      if (lease === 30_000) hold.renewed(request);
      else hold.extended(request);
      clock.stall(1_000);
      answer(28_000, hold.grant.lease.ask(clock.now(), 1, 0));
      expect(hold.missingLease).toBe(lease - 1_000);
    }
  });

  it('lacks a part of its lease after a pushed grant, counted from the grant', () => {
    const { clock, hold, answer } = setUp({ grant: { lease: 3_000 } });
    expect(hold.missingLease).toBe(30_000);
    clock.stall(1_000);
    expect(hold.missingLease).toBe(29_000);
    answer(29_000);
    expect(hold.remaining).toBeCloseTo(28_698);
    expect([hold.missingLease, setUp().hold.missingLease]).toEqual([0, 0]);
  });
});
