import { describe, expect, it } from '@jest/globals';
import { FakeClock, settled } from '../../../testbed/clocks/fake-clock.js';
import { holdOf, Observer } from './support.js';

function setUp(options: Parameters<typeof holdOf>[1] = {}) {
  const clock = new FakeClock();
  const observer = new Observer();
  const hold = holdOf(clock, { observer, ...options });
  const answer = (left: number, question = hold.ask(0, 0)) => hold.answered(question, left);
  return { clock, observer, hold, answer };
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

  it('is valid from the sending of its request, not from the arrival of the reply', () => {
    const { clock, hold } = setUp({ terms: { lease: 1_000 }, grant: { from: 1_000 - 600 } });
    expect(hold.remaining).toBe(388);
    clock.stall(388);
    expect(hold.isHeld).toBe(false);
  });

  it('is never valid for longer than the requested lease', () => {
    const { hold } = setUp({ terms: { lease: 1_000 }, grant: { lease: 5_000 } });
    expect(hold.remaining).toBe(988);
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
  });

  it('returns an aborted signal after the loss', () => {
    const { hold } = setUp();
    hold.lose('unknown');
    expect(hold.signal.aborted).toBe(true);
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST' });
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

  it('cannot be released any more once its lease is over', () => {
    const { clock, hold } = setUp();
    clock.stall(40_000);
    expect(hold.end()).toBe(false);
    expect(hold.state).toBe('lost');
  });

  it('is valid for longer after a confirmation, counted from the request', () => {
    const { clock, hold, answer } = setUp({ terms: { lease: 1_000 } });
    clock.stall(500);
    const question = hold.ask(0, 1_000);
    clock.stall(300);
    answer(1_000, question);
    expect(hold.remaining).toBe(688);
  });

  it('is not revived by a late confirmation', () => {
    const { clock, hold, answer } = setUp({ terms: { lease: 1_000 } });
    clock.stall(900);
    const question = hold.ask(0, 1_000);
    clock.stall(90);
    expect(hold.isHeld).toBe(false);
    answer(1_000, question);
    expect(hold.isHeld).toBe(false);
    expect(hold.remaining).toBe(0);
  });

  it('shrinks when a shorter lease is requested, whatever the replies to earlier requests', () => {
    const { clock, hold, answer } = setUp();
    const earlier = hold.ask(0, 30_000);
    clock.stall(10);
    hold.resize(0, 1_000, 0);
    expect(hold.remaining).toBe(988);
    answer(30_000, earlier); // a renewal that was on its way
    expect(hold.remaining).toBe(988);
    answer(1_000);
    expect(hold.remaining).toBe(988);
  });

  it('grows by a longer lease only after its confirmation', () => {
    const { hold, answer } = setUp({ terms: { lease: 1_000 } });
    const [question] = hold.resize(0, 60_000, 0);
    expect(hold.remaining).toBe(988);
    answer(60_000, question);
    expect(hold.remaining).toBe(59_398);
  });

  it('is valid no longer than a pending extension permits', () => {
    const { clock, hold, answer } = setUp();
    const [, extension] = hold.resize(0, 1_000, 10_000);
    clock.stall(500);
    answer(30_000);
    expect(hold.remaining).toBe(988);
    hold.settled(extension);
    expect(hold.remaining).toBe(988);
    answer(30_000);
    expect(hold.remaining).toBe(29_698);
  });

  it('is valid as before after an extension can no longer be executed', () => {
    const { clock, hold, answer } = setUp();
    hold.resize(0, 1_000, 600);
    clock.stall(599);
    const question = hold.ask(0, 30_000);
    clock.stall(10);
    answer(30_000, question);
    expect(hold.remaining).toBe(978);
    answer(30_000);
    expect(hold.remaining).toBe(29_698);
  });

  it('is not handed off while an extension is pending', () => {
    const { hold } = setUp();
    const { terms } = hold;
    const [, extension] = hold.resize(0, 20_000, 10_000);
    expect(hold.lastsFor(terms, 3_000)).toBe(false);
    hold.settled(extension);
    expect(hold.lastsFor(terms, 3_000)).toBe(true);
  });

  it('lacks a part of its lease after a pushed grant, counted from the grant', () => {
    const { clock, hold, answer } = setUp({ grant: { lease: 3_000 } });
    expect(hold.missingLease).toBe(30_000);
    clock.stall(1_000);
    expect(hold.missingLease).toBe(29_000);
    answer(29_000);
    expect(hold.remaining).toBeCloseTo(28_708);
    expect(setUp().hold.missingLease).toBe(0);
  });

  it('lacks nothing once the full lease has been confirmed', () => {
    const { hold, answer } = setUp({ grant: { lease: 3_000 } });
    answer(hold.missingLease);
    expect(hold.missingLease).toBe(0);
  });
});
