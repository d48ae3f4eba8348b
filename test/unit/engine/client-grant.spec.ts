import { ClientGrant } from '../../../lib/engine/hold.js';
import { capacityFor, type Capacity } from '../../../lib/engine/hold-terms.js';
import type { Grant, Hold, HoldTerms } from '../../../lib/engine/hold.js';
import { KeyQueue, type Group } from '../../../lib/engine/key-queue.js';
import { TransientMap } from '../../../lib/common/transient.js';
import { contextOf, FakeStore, TERMS, FakeClock } from './support.js';

const READ: HoldTerms = { ...TERMS, mode: { kind: 'read' } };
const PERMITS: HoldTerms = { ...TERMS, mode: { kind: 'permits', units: 2, limit: 9 } };

function setUp(terms: HoldTerms, capacity: Capacity, details: Partial<Grant> = {}) {
  const clock = new FakeClock();
  const granted = {
    ...{ id: 'me:1', token: 11, lease: 30_000, longest: 30_000, batchSize: 4 },
    ...{ from: clock.now(), epoch: 0, restsOn: 0, ...details },
  };
  const grant = new ClientGrant(contextOf(new FakeStore(), clock), { key: 'a', mode: terms.mode }, granted, capacity);
  return { clock, grant };
}

describe('the capacity of a grant', () => {
  it('is one, any number of readers, or the permits, unless the request needs a grant of its own', () => {
    const capacities = (terms: HoldTerms) => capacityFor(terms, 16);
    expect([TERMS, READ, PERMITS].map(capacities)).toEqual(['one', 'readers', 'permits']);
    const replicas = { min: 1, timeout: 9 };
    const alone = [{ owner: 'ann' }, { fair: true }, { alone: true }, { holdAtLeast: 9 }, { replicas }];
    for (const terms of alone) expect(capacities({ ...READ, ...terms })).toBe('one');
    expect(capacityFor(READ, 1)).toBe('one');
  });

  it('says how many callers it serves at once, and with which tokens', () => {
    const one = setUp(TERMS, 'one').grant;
    expect([one.places, one.add(TERMS).token]).toEqual([1, 11]);
    const readers = setUp(READ, 'readers').grant;
    expect([readers.places > 100, readers.add(READ).token, readers.add(READ).token]).toEqual([true, 11, 11]);
    const permits = setUp(PERMITS, 'permits', { units: 6 }).grant;
    expect([permits.places, permits.add(PERMITS).token, permits.add(PERMITS).token]).toEqual([3, 11, 12]);
    expect(permits.units).toBe(4);
  });
});

describe('a grant passes to the next caller', () => {
  it('as often as it has tokens', () => {
    const { grant } = setUp(TERMS, 'one', { batchSize: 2 });
    const first = grant.add(TERMS);
    expect(grant.mayPass(first, TERMS)).toBe(true);
    grant.remove(first);
    const second = grant.add(TERMS);
    expect([second.id, second.token]).toEqual([first.id, 12]);
    expect(grant.mayPass(second, TERMS)).toBe(false);
  });

  it('only if half of the lease is ahead that a caller gets at first', () => {
    const passes = (lease: number, age: number): boolean => {
      const terms = { ...TERMS, lease };
      const { grant } = setUp(terms, 'one', { lease, longest: lease, from: 1_000 - age });
      return grant.mayPass(grant.add(terms), terms);
    };
    expect([passes(2_000, 900), passes(2_000, 1_000)]).toEqual([true, false]);
    // At most `grantTimeout`.
    expect([passes(30_000, 28_000), passes(30_000, 28_500)]).toEqual([true, false]);
  });

  it('not while a reply about it is in doubt, or with a longer lease than the caller asks for', () => {
    const { clock, grant } = setUp(TERMS, 'one', { from: -2_000 });
    const hold = grant.add(TERMS);
    expect(grant.mayPass(hold, { ...TERMS, lease: 1_000 })).toBe(false);
    expect(grant.mayPass(hold, TERMS)).toBe(true);
    grant.lease.replied(grant.lease.ask(clock.now() - 3_000, 0, 0), clock.now(), 27_500);
    expect(grant.lease.isUnclear).toBe(true);
    expect(grant.mayPass(hold, TERMS)).toBe(false);
  });

  it('not if the release of its holder needs the store, which has granted it for several callers', () => {
    // The caller that made the request has given up, and another one has its place.
    for (const own of [{ holdAtLeast: 900 }, { replicas: { min: 1, timeout: 100 } }]) {
      const { grant } = setUp(TERMS, 'one');
      expect(grant.mayPass(grant.add({ ...TERMS, ...own }), TERMS)).toBe(false);
    }
  });

  it('with as many permits as the caller wants', () => {
    const { grant } = setUp(PERMITS, 'permits', { units: 4 });
    const hold = grant.add(PERMITS);
    expect(grant.mayPass(hold, PERMITS)).toBe(true);
    hold.releaseUnits(hold.units - 1);
    expect(grant.mayPass(hold, PERMITS)).toBe(false);
  });
});

it('a grant that is lost ends the holds of all its callers', () => {
  const { grant } = setUp(READ, 'readers');
  const holds = [grant.add(READ), grant.add(READ)];
  grant.lose('forced');
  expect(holds.map(({ state, loss }) => [state, loss!.lossReason])).toEqual([
    ['lost', 'forced'],
    ['lost', 'forced'],
  ]);
  expect(grant.admits(READ)).toBe(false);
});

describe('many grants of one key', () => {
  const GROUP = {} as Group;
  const queueOf = () => new KeyQueue('a', { keys: new TransientMap(), parts: {} as never, releases: {} as never });

  it('do not make requests slower once their time is over', () => {
    const queue = queueOf();
    const { clock } = setUp(READ, 'readers');
    let looks = 0;
    for (let i = 0; i < 1_000; i++) {
      const { grant } = setUp(READ, 'readers');
      Object.defineProperty(grant, 'isOver', { get: () => (looks += 1) > 0 && clock.now() > 1_000 });
      queue.share(grant, GROUP);
    }
    clock.stall(60);
    for (let i = 0; i < 1_000; i++) queue.closeShared({ kind: 'read' });
    expect(looks).toBe(1_000);
  });

  it('are closed for a request of another kind as long as they are open', () => {
    const queue = queueOf();
    const grants = Array.from({ length: 3 }, () => setUp(READ, 'readers').grant);
    for (const grant of grants) queue.share(grant, GROUP);
    queue.ended({ grant: grants[1]! } as Hold);
    queue.closeShared({ kind: 'read' });
    expect(grants.map(({ isOver }) => isOver)).toEqual([false, false, false]);
    queue.closeShared({ kind: 'exclusive' });
    expect(grants.map(({ isOver }) => isOver)).toEqual([true, false, true]);
  });
});
