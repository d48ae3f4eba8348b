import { ClientIdentity } from '../../../lib/engine/client-identity.js';
import { readAcquisitionId } from '../../../lib/store/acquisition-id.js';
import type { ClientRecord, ClientRecordStore } from '../../../lib/store/client-records.js';
import { TimerQueue } from '../../../lib/common/timer-queue.js';
import { FakeStore, SILENT, deferred, type Deferred, FakeClock } from './support.js';

interface Write {
  readonly record: ClientRecord;
  readonly lifetime: number;
  readonly reply: Deferred<unknown>;
}

/** A store whose replies to records the test gives. */
class RecordingStore extends FakeStore {
  readonly writes: Write[] = [];
  readonly clients: ClientRecordStore = {
    write: (record, lifetime) => {
      const reply = deferred<unknown>();
      this.writes.push({ record, lifetime, reply });
      return reply.then(() => undefined);
    },
    read: async () => undefined,
  };
}

let clock: FakeClock;
const turn = async (): Promise<void> => {
  // Behind the callers of this turn of the event loop.
  clock.advance(1);
  await new Promise((resolve) => setImmediate(resolve));
};

function setUp() {
  const store = new RecordingStore();
  clock = new FakeClock();
  const lines: string[] = [];
  const logger = { ...SILENT, debug: (line: string) => void lines.push(line) };
  const identity = new ClientIdentity(store, clock, new TimerQueue(clock), logger, 'orders:17');
  const answerAll = async (): Promise<void> => {
    for (const { reply } of store.writes) reply.resolve(undefined);
    // The replies arrive, and the next write is due.
    await turn();
    await turn();
  };
  /** A hold begins that lasts for `lease` ms. */
  const cover = (lease: number): Promise<void> => {
    identity.cover(clock.now(), lease);
    return turn();
  };
  return { store, clock, lines, identity, answerAll, cover };
}

describe('the ids of acquisitions', () => {
  it('end with the number of the call site, in at most three bytes', () => {
    const { identity } = setUp();
    const sites = Array.from({ length: 500 }, (_, i) => ({ pattern: `p${i}`, method: undefined }));
    const ids = [...sites, ...sites].map((site) => identity.nextId(site));
    expect(new Set(ids).size).toBe(1_000);
    ids.forEach((id, i) => {
      expect(id).toMatch(new RegExp(`^me:${i + 1}\\.[0-9a-z]{1,2}$`));
      expect(readAcquisitionId(id)).toEqual({ client: 'me', site: i % 500 });
      expect(identity.site(i % 500)).toEqual(sites[i % 500]);
    });
  });

  it('have no number without a pattern and a method, and beyond the five hundredth call site', () => {
    const { identity } = setUp();
    expect(identity.nextId()).toBe('me:1');
    expect(identity.nextId({ pattern: undefined, method: undefined })).toBe('me:2');
    for (let i = 0; i < 500; i++) identity.nextId({ pattern: `p${i}` });
    expect(identity.nextId({ pattern: 'one more' })).toBe('me:503');
    expect(identity.nextId({ pattern: 'p0' })).toBe('me:504.0');
  });

  it('tell methods with the same pattern apart', () => {
    const { identity } = setUp();
    const [one, other] = ['Stock.reserve', 'Stock.count'].map((method) => ({ pattern: 'stock:#id', method }));
    expect([one, other, one].map((site) => identity.nextId(site))).toEqual(['me:1.0', 'me:2.1', 'me:3.0']);
  });

  it('tell renewed leases apart from fixed and limited ones', () => {
    const { identity } = setUp();
    const site = { pattern: 'stock:#id', lease: 30_000, renews: true, maxRenewTimes: 0 };
    const sites = [site, { ...site, lease: 9_000 }, { ...site, renews: false }, { ...site, maxRenewTimes: 3 }, site];
    expect(sites.map((each) => identity.nextId(each))).toEqual(['me:1.0', 'me:2.1', 'me:3.2', 'me:4.2', 'me:5.0']);
    expect([0, 1, 2].map((number) => identity.site(number)?.renewedLease)).toEqual([30_000, 9_000, undefined]);
  });

  it.each([
    ['me:7.dv/kept', { client: 'me', site: 499 }],
    ['me:7/kept', { client: 'me', site: undefined }],
    ['handover:0f3a', { client: 'handover', site: undefined }],
    ['foreign', { client: '', site: undefined }],
  ])('are read: %s', (id, name) => {
    expect(readAcquisitionId(id)).toEqual(name);
  });
});

describe('the record of a client', () => {
  it('is written once for many holds, behind the turn of the first, and again before a hold would outlive it', async () => {
    const { store, clock, identity, answerAll, cover } = setUp();
    identity.nextId({ pattern: 'orders' });
    identity.cover(clock.now(), 30_000);
    expect(store.writes).toHaveLength(0);
    await turn();
    await answerAll();
    const [{ record, lifetime }] = store.writes as [Write];
    expect(record).toEqual({ label: 'orders:17', sites: [{ pattern: 'orders', method: undefined }] });
    expect(lifetime).toBeGreaterThan(2 * 30_000);
    // A hold that begins at any later moment either ends before the record, or has it written anew.
    for (let passed = 0; passed < lifetime; passed += 10_000) {
      await cover(30_000);
      if (store.writes.length > 1) break;
      expect(passed + 30_000).toBeLessThan(lifetime);
      clock.advance(10_000);
    }
    expect(store.writes).toHaveLength(2);
  });

  it('is written again by a client that still holds locks, in case Redis has evicted it', async () => {
    const { store, clock, answerAll, cover } = setUp();
    await cover(10_000);
    await answerAll();
    // Renewals, for which the record would be long enough.
    for (let passed = 0; passed < 70_000; passed += 5_000) {
      clock.advance(5_000);
      await cover(10_000);
    }
    expect(store.writes).toHaveLength(2);
  });

  it('is written again at once for a longer lease and for another call site, also during a write', async () => {
    const { store, clock, identity, answerAll, cover } = setUp();
    await cover(30_000);
    identity.cover(clock.now(), 3_600_000);
    identity.nextId({ pattern: 'late' });
    expect(store.writes).toHaveLength(1);
    await answerAll();
    expect(store.writes).toHaveLength(2);
    expect(store.writes[1]!.lifetime).toBeGreaterThan(3_600_000);
    expect(store.writes[1]!.record.sites).toEqual([{ pattern: 'late', method: undefined }]);
    await answerAll();
    await cover(30_000);
    expect(store.writes).toHaveLength(2);
  });

  it('never becomes shorter than the longest lease needs', async () => {
    const { store, clock, identity, answerAll, cover } = setUp();
    await cover(3_600_000);
    await answerAll();
    clock.advance(60_000);
    identity.nextId({ pattern: 'another' });
    await cover(30_000);
    expect(store.writes[1]!.lifetime).toBeGreaterThan(3_600_000 - 60_000);
  });

  it('is written again after a failure, but not at once, and after a reconnect', async () => {
    const { store, clock, lines, identity, answerAll, cover } = setUp();
    await cover(30_000);
    store.writes[0]!.reply.reject(new Error('OOM'));
    await turn();
    await cover(30_000);
    expect(store.writes).toHaveLength(1);
    expect(lines).toEqual([expect.stringContaining('OOM')]);
    clock.advance(5_000);
    await cover(30_000);
    expect(store.writes).toHaveLength(2);
    await answerAll();
    identity.restored();
    await turn();
    expect(store.writes).toHaveLength(3);
  });

  it('is not written by a client that has had no hold', async () => {
    const { store, identity } = setUp();
    identity.restored();
    await turn();
    expect(store.writes).toHaveLength(0);
  });
});
