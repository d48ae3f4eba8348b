import { LockCensus } from '../../../lib/dashboard/lock-census.js';
import { readQuery } from '../../../lib/dashboard/lock-query.js';
import type { ListRequest } from '../../../lib/engine/lock-engine.js';
import { lockOf } from '../../../lib/dashboard/lock-view.js';
import type { LockState } from '../../../lib/service/lock-state.js';

const ALL = readQuery({});

/** A store with locks of which it lists some hundreds at a time, and a clock that stands still. */
class FakeLocks {
  now = 0;
  inspected = 0;
  isAway = false;
  readonly locks = new Map<string, LockState>();
  readonly census = new LockCensus(this, 3, () => this.now);

  /** What a page gets that looks now. */
  async look(query = ALL) {
    const since = this.now;
    await this.census.refresh();
    return this.census.view(query, since);
  }

  hold(key: string, { age = 0, waiters = 0 } = {}): void {
    const client = 'c'.repeat(32);
    const caller = {
      ...{ id: `${client}:${key}`, owner: 'ann', kind: 'exclusive' as const, units: 0, client },
      ...{ label: undefined, connected: undefined, pattern: undefined, method: undefined },
    };
    const since = new Date(1_000_000 + this.now - age);
    this.locks.set(key, {
      ...{ key, owner: 'ann', holds: 1, ttl: 30_000, fencingToken: 7, permits: undefined },
      holders: [{ ...caller, fencingToken: 7, ttl: 30_000, renewedLease: undefined, kept: false, since }],
      waiters: Array.from({ length: waiters }, () => ({ ...caller, since })),
      waitingHere: 0,
    });
  }

  listKeys = async ({ cursor, budget }: ListRequest) => {
    if (this.isAway) throw new Error('Redis is away');
    const from = Number(cursor || 0);
    const keys = [...this.locks.keys()];
    const next = from + budget;
    return {
      keys: keys.slice(from, next),
      cursor: next < keys.length ? String(next) : undefined,
      time: 1_000_000 + this.now,
    };
  };

  inspect = async (key: string) => {
    if (this.isAway) throw new Error('Redis is away');
    this.inspected += 1;
    return this.locks.get(key) ?? null;
  };
}

describe('LockCensus', () => {
  let locks: FakeLocks;
  beforeEach(() => void (locks = new FakeLocks()));

  it('counts 5,000 locks in steps of bounded cost, and says when the count is complete and how old it is', async () => {
    for (let i = 0; i < 5_000; i++) locks.hold(`key:${i}`, { age: i, waiters: i % 50 === 0 ? 3 : 0 });
    for (let step = 1; step <= 5; step++) {
      const { totals } = await locks.look();
      expect([step, totals.locks, totals.complete]).toEqual([step, step * 1_000, step === 5]);
      expect(locks.inspected).toBeLessThanOrEqual(step * 1_003);
      locks.now += 2_000;
    }
    const { totals, list, matching } = await locks.look();
    expect(totals).toMatchObject({ locks: 5_000, holding: 5_000, waiting: 300, capped: false });
    // Five steps of 2 s for one turn through all keys.
    expect(totals.age).toBeLessThanOrEqual(10_000);
    expect(totals.age).toBeGreaterThan(0);
    expect(matching).toBe(5_000);
    expect(list.map(({ key }) => key)).toEqual(['key:4950', 'key:4900', 'key:4850']);
  });

  it('reads what is shown each time, and the rest in turn', async () => {
    for (let i = 0; i < 3_000; i++) locks.hold(`key:${i}`, { age: i });
    for (let i = 0; i < 4; i++) {
      await locks.look();
      locks.now += 2_000;
    }
    locks.locks.delete('key:2999');
    locks.locks.delete('key:0');
    const { list } = await locks.look();
    expect(list.map(({ key, ago }) => [key, ago])).toEqual([
      ['key:2998', 0],
      ['key:2997', 0],
      ['key:2996', 0],
    ]);
    for (let i = 0; i < 3; i++) {
      locks.now += 2_000;
      await locks.look();
    }
    expect((await locks.look()).totals.locks).toBe(2_998);
  });

  it('puts the lock first that is held longest, whenever it was read', async () => {
    for (let i = 0; i < 1_500; i++) locks.hold(`key:${i}`, { age: 2_000 - i });
    for (let i = 0; i < 5; i++) {
      const { list } = await locks.look();
      expect(list.map(({ key }) => key)).toEqual(['key:0', 'key:1', 'key:2']);
      locks.now += 2_000;
    }
  });

  it('keeps what it knows while the store is away, and says since when', async () => {
    locks.hold('a', { age: 5_000 });
    await locks.look();
    locks.isAway = true;
    locks.now = 20_000;
    const away = await locks.look();
    expect(away).toMatchObject({ age: 20_000, trouble: { message: 'Redis is away', for: 20_000 } });
    expect(away.list).toMatchObject([{ key: 'a', ago: 20_000, holders: [{ age: 5_000, lease: 30_000 }] }]);
    locks.isAway = false;
    locks.now = 22_000;
    expect(await locks.look()).toMatchObject({ age: 0, trouble: undefined, list: [{ ago: 0 }] });
  });

  it('counts no time without a viewer as time without an answer', async () => {
    locks.hold('a');
    await locks.look();
    locks.isAway = true;
    locks.now = 3_600_000;
    expect(await locks.look()).toMatchObject({ age: undefined, trouble: { for: 0 } });
  });

  it('has no age before the first answer', async () => {
    locks.isAway = true;
    await locks.look();
    locks.now = 3_000;
    expect(await locks.look()).toMatchObject({ age: undefined, trouble: { for: 3_000 }, list: [] });
  });

  it('counts no more than 20,000 keys, and says so', async () => {
    for (let i = 0; i < 20_050; i++) locks.hold(`key:${i}`);
    for (let i = 0; i < 25; i++) await locks.census.refresh();
    expect((await locks.look()).totals).toMatchObject({ locks: 20_000, capped: true });
  });

  it('reads everything again after a pause, instead of showing old counts', async () => {
    locks.hold('a');
    await locks.look();
    locks.now = 3_600_000;
    const { totals } = await locks.look();
    expect(totals).toMatchObject({ locks: 1, age: 0 });
  });

  it('warns of an overdue renewal at the first look, and not of a short first lease, a fixed or a kept one', async () => {
    const overdue = async (age: number, facts: object): Promise<boolean> => {
      locks = new FakeLocks();
      locks.hold('a');
      locks.now += age;
      const lock = locks.locks.get('a')!;
      locks.locks.set('a', { ...lock, holders: [{ ...lock.holders[0]!, ...facts }] });
      return (await locks.look()).list[0]!.holders[0]!.overdue;
    };
    const renewedLease = 30_000;
    expect(await overdue(500, { renewedLease, ttl: 900 })).toBe(false);
    expect(await overdue(3_600_000, { renewedLease, ttl: 19_000 })).toBe(false);
    expect(await overdue(3_600_000, { renewedLease, ttl: 9_000 })).toBe(true);
    expect(await overdue(3_600_000, { renewedLease, ttl: 9_000, kept: true })).toBe(false);
    expect(await overdue(29_000, { renewedLease: undefined, ttl: 1_000 })).toBe(false);
  });

  it.each([
    ['a hold', 400],
    ['a hold that began by a clock ahead of this one', -100],
    ['a hold of Redisson, which does not write since when', NaN],
  ])('the age of %s', (_what, age) => {
    locks.hold('a', { age });
    const expected = Number.isNaN(age) ? undefined : Math.max(0, age);
    expect(lockOf(locks.locks.get('a')!, 1_000_000).holders).toMatchObject([{ age: expected, overdue: false }]);
  });

  it('finds labels and patterns of clients that tell them', async () => {
    locks.hold('a');
    locks.hold('b');
    const found = locks.locks.get('b')!;
    const holder = { ...found.holders[0]!, label: 'pod-7', pattern: 'stock:#{#id}' };
    locks.locks.set('b', { ...found, holders: [holder] });
    const { list } = await locks.look(readQuery({ filter: 'POD-7 stock:' }));
    expect(list).toMatchObject([{ key: 'b', holders: [{ label: 'pod-7', pattern: 'stock:#{#id}' }] }]);
  });
});
