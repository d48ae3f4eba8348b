import fc from 'fast-check';
import { LeaseView, validUntil, type LeaseRequest, elapsedSince } from '../../../lib/engine/lease-view.js';

const LEASE = 10_000;
const NOW = 1_000;

const viewOf = (lease = LEASE, details: object = {}): LeaseView =>
  new LeaseView({ lease, longest: lease, from: NOW, restsOn: 0, ...details });

/** Asks, and has it answered after `took` ms that so many ms are left. */
function look(view: LeaseView, { at = NOW, took = 1, left = 0, epoch = 0 }): string {
  return view.replied(view.ask(at, epoch, 0), at + took, left);
}

describe('the validity after replies', () => {
  it('is lowered by a contradicting reply, counted from the sending of the request', () => {
    const view = viewOf();
    expect(look(view, { at: NOW + 1_000, took: 5, left: 3_000 })).toBe('lowered');
    expect(view.until).toBe(validUntil(NOW + 1_000, 3_000));
  });

  it('is not lowered by a slow, ambiguous reply, and the next one decides', () => {
    const until = validUntil(NOW, LEASE);
    for (const [left, verdict, end] of [
      // The server stood still for 4 s, and executed the request then.
      [5_000, 'confirmed', validUntil(NOW + 5_000, 5_000)],
      [3_000, 'lowered', validUntil(NOW + 5_000, 3_000)],
    ] as const) {
      const view = viewOf();
      expect(look(view, { at: NOW + 1_000, took: 4_000, left: 5_000 })).toBe('unclear');
      expect([view.isUnclear, view.until]).toEqual([true, until]);
      expect(look(view, { at: NOW + 5_000, left })).toBe(verdict);
      expect(view.isUnclear).toBe(false);
      expect(view.until).toBe(end);
    }
  });

  it('is lowered at once by a slow reply if the connection was lost since the previous one', () => {
    const view = viewOf();
    expect(view.isFromBefore(1)).toBe(true);
    expect(look(view, { at: NOW + 1_000, took: 4_000, left: 5_000, epoch: 1 })).toBe('lowered');
    expect(view.until).toBe(validUntil(NOW + 1_000, 5_000));
    expect(view.isFromBefore(1)).toBe(false);
    // It rests on that reply by now, so the next slow one says nothing again.
    expect(look(view, { at: NOW + 3_000, took: 2_500, left: 1_000, epoch: 1 })).toBe('unclear');
  });

  it('allows for the drift between its clock and each server separately', () => {
    const view = viewOf();
    // The server before had 50 ms more, which is less than the clocks may part by.
    const left = LEASE - 1_000 - 50;
    expect(look(view, { at: NOW + 1_000, left, epoch: 1 })).toBe('confirmed');
    expect(view.until).toBe(validUntil(NOW + 1_000, left));
  });

  it('is not lowered by a reply that a newer one has overtaken', () => {
    const view = viewOf();
    const [old, renewal] = [view.ask(NOW + 100, 0, 0), view.ask(NOW + 200, 0, LEASE)];
    expect(view.replied(renewal, NOW + 210, LEASE)).toBe('confirmed');
    expect(view.replied(old, NOW + 220, 3_000)).toBe('ignored');
    expect(view.until).toBe(validUntil(NOW + 200, LEASE));
  });

  it('is raised by the reply to an older request, unless it has been lowered since', () => {
    for (const [left, until] of [
      [LEASE - 200, validUntil(NOW + 100, LEASE)],
      [3_000, validUntil(NOW + 200, 3_000)],
    ] as const) {
      const view = viewOf();
      const [renewal, newer] = [view.ask(NOW + 100, 0, LEASE), view.ask(NOW + 200, 0, 0)];
      view.replied(newer, NOW + 201, left);
      expect(view.replied(renewal, NOW + 210, LEASE)).toBe('ignored');
      expect(view.until).toBe(until);
    }
  });

  it('is not raised by a request from before a reconnect once the new connection has answered', () => {
    const view = viewOf();
    const extension = view.ask(NOW + 100, 0, 6 * LEASE);
    look(view, { at: NOW + 200, left: LEASE - 100, epoch: 1 });
    view.replied(extension, NOW + 300, 6 * LEASE);
    expect(view.until).toBeLessThan(NOW + LEASE);
  });

  it('is never lowered if it is right, whatever the clocks, delays and order of replies', () => {
    const ms = fc.double({ min: 0, max: 3_000, noNaN: true });
    const rate = fc.double({ min: 0.9901, max: 1.0099, noNaN: true });
    const asked = fc.record({ wait: ms, there: ms, back: ms, renews: fc.boolean() });
    fc.assert(
      fc.property(rate, ms, fc.array(asked, { maxLength: 8 }), (speed, there, requests) => {
        // The server's clock, in whole ms.
        const time = (now: number): number => Math.floor(77_000 + now * speed);
        const view = viewOf();
        let ends = time(NOW + there) + LEASE;
        let sent = NOW + there;
        const answers: Array<{ request: LeaseRequest; at: number; left: number }> = [];
        let executed = NOW + there;
        for (const { wait, there: way, back, renews } of requests) {
          sent += wait;
          executed = Math.max(executed, sent + way);
          const request = view.ask(sent, 0, renews ? LEASE : 0);
          if (time(executed) >= ends) break;
          if (renews) ends = Math.max(ends, time(executed) + LEASE);
          answers.push({ request, at: executed + back, left: ends - time(executed) });
        }
        for (const { request, at, left } of answers.sort((a, b) => a.at - b.at)) {
          if (at >= view.until) break;
          expect(view.replied(request, at, left)).not.toBe('lowered');
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the length of the lease that was set last', () => {
  it.each([
    ['a look', 0, LEASE - 4_000, LEASE],
    ['a request for less than is left', 2_000, LEASE - 4_000, LEASE],
    ['a renewal', LEASE, LEASE, LEASE],
    ['a longer lease', 2 * LEASE, 2 * LEASE, 2 * LEASE],
    ['a renewal for a shorter lease than the first', LEASE - 3_000, LEASE - 3_000, LEASE - 3_000],
  ])('after %s', (_what, lease, left, length) => {
    const view = viewOf();
    const at = NOW + 4_000;
    view.replied(view.ask(at, 0, lease), at + 1, left);
    expect(view.length).toBe(length);
  });
});

describe('the validity of a lease', () => {
  it('counts from the sending of the request, minus 1 % and 2 ms, rounded down', () => {
    expect(validUntil(5_000, 30_000)).toBe(5_000 + 29_700 - 2);
    expect(validUntil(0, 50)).toBe(47);
  });

  it('ends before the lease does, on a clock that runs up to 1 % slower than that of the server', () => {
    const ms = (max: number) => fc.double({ min: 0, max, noNaN: true });
    const speed = fc.double({ min: 1, max: 1.01, noNaN: true });
    fc.assert(
      fc.property(ms(1e6), ms(1e4), fc.integer({ min: 50, max: 2 ** 31 - 1 }), speed, (sent, travel, lease, faster) => {
        // The server rounds the moment of the grant down to a whole millisecond.
        const end = travel + lease - 1;
        expect((validUntil(sent, lease) - sent) * faster).toBeLessThanOrEqual(end);
      }),
    );
  });

  it("of a pushed grant does so, too, on a clock that runs up to 1 % faster than the server's", () => {
    const ms = (max: number) => fc.double({ min: 0, max, noNaN: true });
    const speed = fc.double({ min: 1, max: 1.01, noNaN: true });
    fc.assert(
      fc.property(
        ms(1e6),
        ms(1e4),
        fc.nat(1e6),
        fc.integer({ min: 50, max: 1e6 }),
        speed,
        (sent, travel, elapsed, lease, faster) => {
          const until = validUntil(elapsedSince(sent, elapsed), lease);
          // Both moments of the server, of its reply and of the grant, are rounded down to a whole millisecond.
          const end = travel + (elapsed - 1) + lease - 1;
          expect((until - sent) * faster).toBeLessThanOrEqual(end + 1e-6);
        },
      ),
    );
  });
});
