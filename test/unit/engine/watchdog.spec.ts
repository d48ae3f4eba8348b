import type { Hold } from '../../../lib/engine/hold.js';
import type { LockEvent } from '../../../lib/engine/lock-event.js';
import { Releases } from '../../../lib/engine/releases.js';
import { Watchdog } from '../../../lib/engine/watchdog.js';
import type { RenewReply } from '../../../lib/store/lock-store.js';
import { contextOf, FakeStore, holdOf, Observer, passing, SILENT, FakeClock, settled } from './support.js';

function setUp() {
  const clock = new FakeClock();
  const store = new FakeStore();
  const warnings: string[] = [];
  const logger = { ...SILENT, warn: (text: string) => void warnings.push(text) };
  const told: string[] = [];
  const late: number[] = [];
  const next = (event: LockEvent): void => {
    if (event.type !== 'renewed') return;
    told.push(`renewed ${event.key} ${event.renewals}`);
    late.push(event.late);
  };
  const context = contextOf(store, clock, { logger, sink: { observed: true, next } });
  const watchdog = new Watchdog(context, new Releases(context));
  const holds = new Observer();
  let last = 0;
  const watch = (terms: object = {}, grant: object = {}): Hold => {
    const hold = holdOf(clock, {
      terms: { lease: 3_000, ...terms },
      grant: { id: `me:${++last}`, ...grant },
      observer: holds,
      due: (hold) => watchdog.look(hold),
    });
    watchdog.watch(hold);
    return hold;
  };
  /** Answers the latest renewal: every hold in it got the lease that it requested. */
  const confirm = async (i = store.renewals.length - 1) => {
    const { request, reply } = store.renewals[i]!;
    reply.resolve(request.map(({ lease }) => lease));
    await settled();
  };
  /** The keys in each renewal so far. */
  const asked = () => store.renewals.map(({ request }) => request.map(({ key }) => key));
  return { clock, store, watchdog, watch, confirm, asked, told, late, warnings, lost: holds.told };
}

describe('the watchdog', () => {
  it('sends the renewals of very many holds in several turns of the event loop', async () => {
    const { clock, watch, asked } = setUp();
    for (let i = 0; i < 300; i++) watch();
    await clock.pass(1_100);
    expect(asked().flat()).toHaveLength(300);
    expect(Math.max(...asked().map(({ length }) => length))).toBeLessThanOrEqual(96);
  });

  it('renews after each third of the lease', async () => {
    const { clock, store, watch, confirm, told } = setUp();
    const hold = watch();
    await clock.pass(850);
    expect(store.renewals).toHaveLength(0);
    await clock.pass(150);
    expect(store.renewals.map(({ request }) => request)).toEqual([
      // Plain data, which a store may send to another process.
      [{ key: 'a', id: 'me:1', lease: 3_000 }],
    ]);
    await confirm();
    expect(hold.remaining).toBeGreaterThan(2_800);
    await clock.pass(1_000);
    expect(store.renewals).toHaveLength(2);
    await confirm();
    expect(told).toEqual(['renewed a 1', 'renewed a 2']);
  });

  it('tells how late a renewal was, but not of a small delay', async () => {
    const { clock, store, watch, confirm, late } = setUp();
    watch();
    await clock.pass(1_000);
    await clock.pass(100);
    await confirm();
    expect(late).toEqual([0]);
    for (let looks = 0; store.renewals.length < 2 && looks < 40; looks++) await clock.pass(50);
    await clock.pass(900);
    await confirm();
    expect(late).toHaveLength(2);
    expect(late[1]).toBeGreaterThanOrEqual(800);
    expect(late[1]).toBeLessThanOrEqual(1_100);
  });

  it('keeps renewing others if it checks a pushed grant at the very moment of its end', async () => {
    const { clock, store, watch, watchdog } = setUp();
    const ends = watch({}, { lease: 1_000 });
    // Its renewal is not answered.
    clock.advance(ends.validUntil - clock.now() - 1);
    clock.stall(1);
    expect(clock.now()).toBe(ends.validUntil);
    watchdog.watch(ends);
    expect(ends.at).toBe(ends.validUntil);
    watch({ key: 'b' });
    await clock.pass(1_000);
    expect([ends.state, store.renewals.at(-1)!.request.map(({ key }) => key)]).toEqual(['lost', ['b']]);
  });

  it('sends renewals that are due together, of locks that were acquired one after the other', async () => {
    const { clock, watch, asked } = setUp();
    for (let i = 0; i < 10; i++) {
      watch({ key: `key:${i}` });
      await clock.pass(5);
    }
    await clock.pass(1_000);
    expect(asked().length).toBeLessThanOrEqual(2);
    expect(asked().flat()).toHaveLength(10);
  });

  it('extends a short first lease, also of a fixed lease, and does not count that', async () => {
    const { clock, store, watch, confirm, told } = setUp();
    watch({ lease: 30_000, renews: false, maxRenewTimes: 1 }, { lease: 3_000 });
    await clock.pass(1_000);
    const { lease } = store.renewals[0]!.request[0]!;
    expect(lease).toBeGreaterThanOrEqual(29_000); // 30 s, counted from the grant
    expect(lease).toBeLessThan(29_100);
    await confirm();
    expect(told).toEqual([]);
    await clock.pass(20_000);
    expect(store.renewals).toHaveLength(1);
  });

  it.each([
    [1, 'once'],
    [2, '2 times'],
  ])('renews maxRenewTimes times (%i), warns once, and reports the loss after the last lease', async (times, said) => {
    const { clock, store, watch, confirm, warnings, lost, told } = setUp();
    const hold = watch({ maxRenewTimes: times });
    for (let renewal = 1; renewal <= times; renewal++) {
      await clock.pass(1_000);
      expect(store.renewals).toHaveLength(renewal);
      await confirm();
    }
    expect(warnings).toEqual([expect.stringContaining(`'a' has been renewed ${said}, as often as maxRenewTimes`)]);
    await clock.pass(hold.remaining - 1);
    expect(lost).toEqual([]);
    await clock.pass(2);
    expect(lost).toHaveLength(1);
    expect(store.renewals).toHaveLength(times);
    expect([told.length, warnings.length]).toEqual([times, 1]);
  });

  it('retries failed renewals until the lease is over, and then reports the loss', async () => {
    const { clock, store, watch, lost } = setUp();
    const hold = watch();
    for (let ms = 0; ms < 3_000; ms++) {
      await clock.pass(1);
      for (const { reply } of store.renewals) reply.resolve([passing()]);
    }
    expect(store.renewals.length).toBeGreaterThan(5);
    expect(store.renewals.length).toBeLessThan(100);
    expect([hold.state, lost.length]).toEqual(['lost', 1]);
    expect(hold.loss!.cause).toMatchObject({ code: 'LOCK_STORE', message: 'the connection is lost' });
    const tries = store.renewals.length;
    await clock.pass(3_000);
    expect(store.renewals).toHaveLength(tries);
  });

  it('does not name a failed renewal as the cause of another loss', async () => {
    const { clock, store, watch } = setUp();
    const hold = watch();
    await clock.pass(1_000);
    store.renewals[0]!.reply.resolve([passing()]);
    await clock.pass(10);
    hold.lose('forced');
    expect(hold.loss!.cause).toBeUndefined();
  });

  it('isolates a lease that fails or has ended from the others', async () => {
    const { clock, store, watch, told } = setUp();
    const holds = ['a', 'b', 'c'].map((key) => watch({ key }));
    await clock.pass(1_000);
    expect(store.renewals).toHaveLength(1);
    const answers: Record<string, RenewReply> = { a: passing(), b: 'not-held', c: 3_000 };
    store.renewals[0]!.reply.resolve(store.renewals[0]!.request.map(({ key }) => answers[key]!));
    await settled();
    expect([told, holds.map(({ state }) => state)]).toEqual([['renewed c 1'], ['held', 'lost', 'held']]);
    expect(store.releases.map(({ request }) => request.key)).toEqual(['b']);
    expect(holds[2]!.remaining).toBeGreaterThan(2_800);
    await clock.pass(300);
    expect(store.renewals[1]!.request).toMatchObject([{ key: 'a' }]);
  });

  it('reports the loss on time while a renewal is unanswered', async () => {
    const { clock, store, watch, confirm, lost, told } = setUp();
    const hold = watch();
    await clock.pass(3_000);
    expect(store.renewals).toHaveLength(1);
    expect([hold.state, lost.length]).toEqual(['lost', 1]);
    await confirm(); // too late
    expect([hold.state, told]).toEqual(['lost', []]);
  });

  it('does not renew a hold that has left before the renewal was sent', async () => {
    const { clock, watchdog, watch, asked } = setUp();
    const [one, other] = [watch({ key: 'a' }), watch({ key: 'b' })];
    watchdog.remove(one);
    await clock.pass(1_000);
    watchdog.remove(other);
    await clock.pass(10_000);
    expect(asked()).toEqual([['b']]);
    expect(clock.timers.size).toBe(0);
  });

  it('ignores the reply for a hold that has left in the meantime', async () => {
    const { clock, store, watchdog, watch, told, lost } = setUp();
    const [offered, released] = [watch(), watch()];
    await clock.pass(1_000);
    for (const hold of [offered, released]) watchdog.remove(hold);
    offered.offer();
    released.end();
    // Its renewal was executed behind its release.
    store.renewals[0]!.reply.resolve([3_000, 'not-held']);
    await clock.pass(10_000);
    expect(store.renewals).toHaveLength(1);
    expect([told, lost, released.state]).toEqual([[], [], 'released']);
  });

  it('takes a reply to the request of an earlier holder of the grant', async () => {
    const { clock, store, watchdog, watch } = setUp();
    const first = watch();
    await clock.pass(1_000);
    watchdog.remove(first);
    const second = first.grant.add(first.terms);
    first.grant.remove(first);
    watchdog.watch(second);
    expect(second.remaining).toBeGreaterThan(1_500);
    // A replica without the latest renewal has taken over.
    store.renewals[0]!.reply.resolve([600]);
    await settled();
    expect(second.remaining).toBeLessThanOrEqual(600);
  });

  it('renews all at once on request, and each only once', async () => {
    const { store, watchdog, watch, confirm, asked } = setUp();
    const holds = [watch({ key: 'a' }), watch({ key: 'b', renews: false })];
    watchdog.renewNow(holds);
    watchdog.renewNow(holds);
    await settled();
    // A fixed lease is only read.
    expect(store.renewals.map(({ request }) => request.map(({ lease }) => lease))).toEqual([[3_000, 0]]);
    watchdog.renewNow(holds);
    await settled();
    expect(asked()).toHaveLength(1); // the first is on its way yet
    await confirm();
    watchdog.renewNow(holds);
    await settled();
    expect(asked()).toHaveLength(2);
  });
});
