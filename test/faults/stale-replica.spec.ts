import type { LockHandle } from '../../lib/service/handles/lock-handle.js';
import { ReplicaBench } from '../../lab/testbed/locks/replica-bench.js';
import { redisKey, timed, eventually, type RedisServer } from '../../lab/testbed/locks/locks.js';

const LONG = 60_000;
/** How many ms a request may be on its way, on a busy machine: a lease is counted from its sending by the client. */
const SLACK = 1_000;
/** ms; the next one in turn is given the lock without a word to Redis for so long. */
const IN_TURN = { localHandoffTime: 60_000 };
const STATE = redisKey('state', 'a');

const bench = new ReplicaBench({ records: true, leavesNothing: true });

/** From now on the replica misses all writes. */
async function cutReplicaOff(): Promise<void> {
  await bench.master.replicated();
  await bench.replica.admin.replicaof('NO', 'ONE');
}

/** The ms that are left of a hold: of the only one without an id. The state itself may live longer. */
async function leftOf(server: RedisServer, id?: string): Promise<number> {
  const [holds, time] = await Promise.all([server.admin.hgetall(STATE), server.time()]);
  const hold = id === undefined ? Object.values(holds)[0] : holds[id];
  return Number(hold!.split(' ')[2]) - time;
}

/** When the lease of a server ends, by `performance.now()`: not before that. */
async function leaseOf(server: RedisServer, id?: string): Promise<number> {
  const sent = performance.now();
  return sent + (await leftOf(server, id));
}

/** Until when a lock counts as valid for its holder, by `performance.now()`. */
const validUntil = (lock: LockHandle): number => performance.now() + lock.remainingTime();

/**
 * The master dies and the address leads to the replica, which has a shorter lease. The replica then gets the lease of the
 * master, and the lock is valid for no longer than that.
 */
async function failover(lock: LockHandle): Promise<void> {
  const { master, replica, address } = bench;
  const promised = await leaseOf(master);
  expect(await leaseOf(replica)).toBeLessThan(promised - 2 * SLACK);
  await master.kill();
  address.leadTo(replica);
  address.cutAll();
  await eventually(async () => (await leaseOf(replica)) > promised - SLACK, {
    within: 3_000,
    what: 'the new master to have the whole lease',
  });
  expect(lock.isHeld).toBe(true);
  expect(validUntil(lock)).toBeLessThanOrEqual(await leaseOf(replica));
  expect(bench.told('lost')).toEqual([]);
}

describe('a replica that takes over without the last writes', () => {
  it('gets an extension that it missed', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { expire: '8s' });
    await cutReplicaOff();
    await lock.extend(LONG);
    await failover(lock);
    expect(await lock.release()).toBe(true);
  });

  it('gets the full lease of a pushed grant', async () => {
    const [one, other] = [await bench.service(), await bench.service({ grantTimeout: 9_000, localHandoffs: 1 })];
    const { lock: first, waiting } = await bench.contended(one, other, { expire: LONG, waitTimeout: '30s' });
    await first.release();
    const lock = await waiting;
    expect(await leftOf(bench.master)).toBeLessThan(10_000);
    await cutReplicaOff();
    await eventually(async () => (await leftOf(bench.master)) > 10_000, { within: 6_000 });
    await failover(lock);
    expect(await lock.release()).toBe(true);
  });

  it('gets the fixed lease of a lock that was handed off within a batch', async () => {
    const service = await bench.service({ ...IN_TURN, renewedLease: 12_000 });
    const first = await service.acquire('a');
    const waiting = service.acquire('a', { expire: LONG, waitTimeout: '30s' });
    await cutReplicaOff();
    await first.release();
    const lock = await waiting;
    await eventually(async () => (await bench.master.admin.pttl(STATE)) > 15_000);
    await failover(lock);
    expect(await lock.release()).toBe(true);
  });

  it('makes the client report a lock as lost that it does not know', async () => {
    const service = await bench.service();
    await cutReplicaOff();
    const lock = await service.acquire('a', { expire: LONG });
    await bench.master.kill();
    bench.address.leadTo(bench.replica);
    bench.address.cutAll();
    await eventually(() => lock.signal.aborted, { within: 3_000 });
    expect(lock.isHeld).toBe(false);
    expect(await (await service.acquire('a', { waitTimeout: 0 })).release()).toBe(true);
  });
});

describe('a server with a shorter lease, on the same connection', () => {
  /** The server's state as it was, as after a failover behind a proxy that keeps the connections of its clients. */
  async function remembered(): Promise<() => Promise<void>> {
    const dump = await bench.master.admin.dumpBuffer(STATE);
    const ends = performance.now() + (await bench.master.admin.pttl(STATE));
    return async () => {
      await bench.master.admin.restore(STATE, Math.ceil(ends - performance.now()), dump, 'REPLACE');
    };
  }

  it('lowers the validity at once, before the request for the rest', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { expire: '8s' });
    const forget = await remembered();
    await lock.extend(LONG);
    await forget();
    bench.address.refuse();
    // The second request asks for the rest.
    const second = bench.address.cutBeforeCommand({ nth: 2, names: ['evalsha'] });
    const verified = timed(lock.verify());
    await second.happened;
    expect(lock.isHeld).toBe(true);
    expect(lock.remainingTime()).toBeLessThan(8_000);
    await bench.address.accept();
    await verified;
    await eventually(() => lock.remainingTime() > LONG / 2, { within: 3_000 });
    expect(validUntil(lock)).toBeLessThanOrEqual(await leaseOf(bench.master));
    expect(await lock.release()).toBe(true);
  });

  it('lowers the validity of the current batch member by a reply to the previous one', async () => {
    const service = await bench.service(IN_TURN);
    const lock = await service.acquire('a');
    const waiting = service.acquire('a', { waitTimeout: '30s' });
    const [id, entry] = Object.entries(await bench.master.admin.hgetall(STATE))[0]!;
    bench.address.holdRequests();
    const verified = timed(lock.verify());
    expect(await lock.release()).toBe(true);
    const next = await waiting;
    const ends = Math.floor(await bench.master.time()) + 4_000;
    await bench.master.admin.hset(STATE, id, entry.replace(/^(\S+ \w+) \d+ /, `$1 ${ends} `));
    expect(validUntil(next) - performance.now()).toBeGreaterThan(20_000);
    bench.address.heal();
    expect((await verified).error).toMatchObject({ code: 'LOCK_LOST' });
    await eventually(async () => validUntil(next) <= (await leaseOf(bench.master, id)), {
      within: 3_000,
      what: 'the validity to end with the lease',
    });
    expect(next.isHeld).toBe(true);
    expect(await next.release()).toBe(true);
  });
});
