import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { elapsedSince, validUntil } from '../../../lib/engine/lease-view.js';

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
          // Both moments of the server, of its answer and of the grant, are rounded down to a whole millisecond.
          const end = travel + (elapsed - 1) + lease - 1;
          expect((until - sent) * faster).toBeLessThanOrEqual(end + 1e-6);
        },
      ),
    );
  });
});
