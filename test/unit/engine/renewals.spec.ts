import fc from 'fast-check';
import type { Hold } from '../../../lib/engine/hold.js';
import type { RenewReply, RenewRequest } from '../../../lib/store/lock-store.js';
import type { LockStoreError } from '../../../lib/errors/index.js';
import { engineBench, FakeStore, held, passing, FakeClock, settled, deferred, type Deferred } from './support.js';

const LEASE = 9_000;
/** ms from a client to the server, or back, at most. */
const FARTHEST = 300;
const ROUND_TRIP = 2 * FARTHEST;
/** ms that timers and rounding cost. */
const ROUNDING = 5;
/** ms after which a command without a reply fails. */
const COMMAND_TIMEOUT = 1_000;

interface Way {
  readonly there: number;
  readonly back: number;
  readonly loses: 'nothing' | 'request' | 'reply';
}

/** A server that executes commands in the order in which they were sent, and keeps one lease. */
class LeasingStore extends FakeStore {
  way: Way = { there: 1, back: 1, loses: 'nothing' };
  ends = 0;
  /** The lease that the client has set last, up to that of the holder. The holder's own shorter `extend` changes nothing. */
  full = LEASE;
  /** What the holder has asked for with `extend`. */
  extended = 0;
  /** Whether a renewal in full was answered since the last reply that was lost. */
  answers = true;
  private lostAt = -Infinity;
  private executedAt = 0;
  private answeredAt = 0;

  constructor(readonly clock: FakeClock) {
    super();
  }

  override renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    const execute = (): RenewReply[] => {
      if (this.left <= 0) return requests.map(() => 'not-held');
      for (const { lease } of requests) {
        const isLonger = this.clock.now() + lease > this.ends;
        if (isLonger) this.ends = this.clock.now() + lease;
        if (lease > this.full || (isLonger && lease !== this.extended)) this.full = Math.min(lease, LEASE);
      }
      return requests.map(() => this.left);
    };
    const isFull = requests.some(({ lease }) => lease === LEASE);
    return this.command(execute, isFull).catch((error: LockStoreError) => requests.map(() => error));
  }

  get left(): number {
    return Math.floor(this.ends - this.clock.now());
  }

  private command<Reply>(execute: () => Reply, isRenewal: boolean): Promise<Reply> {
    const { there, back, loses } = this.way;
    const answer: Deferred<Reply> = deferred();
    const sent = this.clock.now();
    if (loses !== 'nothing') {
      this.answers = false;
      this.lostAt = sent;
      this.clock.setTimer(COMMAND_TIMEOUT, () => answer.reject(passing()));
      if (loses === 'request') return answer;
    }
    this.executedAt = Math.max(this.executedAt, sent + there);
    this.answeredAt = Math.max(this.answeredAt, this.executedAt + back);
    const answeredAt = this.answeredAt;
    this.clock.setTimer(this.executedAt - sent, () => {
      const reply = execute();
      if (loses === 'reply') return;
      this.clock.setTimer(answeredAt - this.clock.now(), () => {
        answer.resolve(reply);
        if (isRenewal && sent > this.lostAt) this.answers = true;
      });
    });
    return answer;
  }
}

const way = fc.record({
  there: fc.integer({ min: 1, max: FARTHEST }),
  back: fc.integer({ min: 1, max: FARTHEST }),
  loses: fc.constantFrom<Way['loses'][]>('nothing', 'nothing', 'nothing', 'nothing', 'request', 'reply'),
});
const call = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ does: 'verify' as const, lease: 0 }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('extend' as const), lease: fc.integer({ min: 2_500, max: 25_000 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ does: 'reconnect' as const, lease: 0 }) },
  { weight: 1, arbitrary: fc.constant({ does: 'hand off' as const, lease: 0 }) },
);
const step = fc.record({ call, way, wait: fc.integer({ min: 0, max: 1_500 }), again: fc.integer({ min: 1, max: 12 }) });

it('two thirds of the lease, less one round trip, are left whatever the holder asks meanwhile', async () => {
  const first = fc.constantFrom(3_000, LEASE);
  await fc.assert(
    fc.asyncProperty(first, fc.array(step, { minLength: 1, maxLength: 12 }), async (granted, steps) => {
      const clock = new FakeClock();
      const limits = { commandTimeout: COMMAND_TIMEOUT, batch: { size: 16, time: 60_000 } };
      const { store, engine, acquire } = engineBench({ clock, store: new LeasingStore(clock), limits });
      const acquiring = acquire({ lease: LEASE });
      await settled();
      store.ends = clock.now() + granted;
      store.full = granted;
      store.acquires[0]!.reply.resolve(held(5, granted, 50_000, 16));
      let hold = await acquiring;
      const waiting: Array<Promise<Hold>> = [];

      // A lock whose renewals are lost may be lost, too.
      const pass = async (ms: number): Promise<void> => {
        for (const end = clock.now() + ms; clock.now() < end && (store.answers || hold.isHeld);) {
          if (store.answers) {
            if (!hold.isHeld) throw hold.loss!;
            expect(store.left).toBeGreaterThanOrEqual((2 / 3) * store.full - ROUND_TRIP - ROUNDING);
          }
          clock.advance(Math.min(Math.max(clock.next - clock.now(), 1), end - clock.now()));
          await settled();
        }
      };
      const does = {
        verify: () => void engine.leases.verify(hold).catch(() => undefined),
        extend: async (lease: number) => {
          let isOver = false;
          store.extended = lease;
          const ended = (): void => void (isOver = true);
          engine.leases.extend(hold, lease).then(ended, ended);
          while (!isOver && hold.isHeld) await pass(FARTHEST);
        },
        reconnect: () => {
          store.epoch += 1;
          store.listener.restored();
        },
        'hand off': async () => {
          waiting.push(acquire({ lease: LEASE }));
          await settled();
          if (hold.grant.users!.handOff(hold)) hold = await waiting.shift()!;
        },
      };
      for (const { call, way, wait, again } of steps) {
        for (let times = 0; times < again && hold.isHeld; times += 1) {
          store.way = way;
          await does[call.does](call.lease);
          await settled();
          await pass(wait);
        }
      }
      store.way = { there: 1, back: 1, loses: 'nothing' };
      if (hold.isHeld) await pass(2 * LEASE);
    }),
    { numRuns: 200, endOnFailure: true },
  );
});
