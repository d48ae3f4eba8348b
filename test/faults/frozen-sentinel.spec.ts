import type { RedisSentinels } from '../../lab/testbed/servers/redis-sentinels.mjs';
import { eventually, throughout } from '../../lab/testbed/wait/eventually.mjs';
import { SilentPort } from '../../lab/testbed/proxies/silent-port.mjs';
import { useSentinelTrio } from '../../lab/testbed/locks/fault-setups.js';
import { FaultLocks, redisKey, timed, useOf } from '../../lab/testbed/locks/fault-locks.js';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { RunningTime } from '../../lab/testbed/wait/running-time.mjs';
import { startLockWorker } from '../../lab/testbed/workers/lock-process.js';

/** ms without an answer until the Sentinels take a server for dead. */
const DOWN_AFTER = 2_000;
/** The time that a reconnect may take, no matter which server does not answer. */
const SOON = 4_000;

const locks = new FaultLocks();
let trio: RedisSentinels;

useSentinelTrio(locks, DOWN_AFTER, (started) => (trio = started));

const first = (): RedisServer => trio.sentinels[0]!;
const killConnections = ({ admin }: RedisServer): Promise<unknown> =>
  admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');

describe('with the first Sentinel frozen', () => {
  it('a client that reconnects finds the master through the others', async () => {
    const service = await locks.start(trio.connection);
    await useOf(service, 'a');
    await first().pause();
    await killConnections(await trio.master());
    const { error, ran } = await timed(useOf(service, 'a'));
    expect(error).toBeUndefined();
    expect(ran).toBeLessThan(SOON);
  });

  it('a new client starts', async () => {
    await first().pause();
    const { error, ran } = await timed(locks.start(trio.connection));
    expect(error).toBeUndefined();
    expect(ran).toBeLessThan(SOON);
  });

  it('and the master frozen, too: all works soon after the failover, also for a client that starts in the meantime', async () => {
    const service = await locks.start(trio.connection);
    await useOf(service, 'a');
    const master = await trio.master();
    await Promise.all([first().pause(), master.pause()]);
    const time = new RunningTime();
    const started = locks.make(trio.connection);
    const starting = timed(started.start());
    const calling = timed(useOf(service, 'a'));
    await trio.untilMasterIsNot(master);
    const failover = time.ran;
    const call = await calling;
    // It may fail, as for any question that Redis did not answer; the next one is answered.
    if (call.error !== undefined) await useOf(service, 'a');
    const normal = time.ran;
    await starting;
    await useOf(started, 'b');
    const normalToo = time.stop().ran;
    expect({ failover, normal, normalToo }).toMatchObject({ failover: expect.any(Number) });
    expect(normal - failover).toBeLessThan(SOON);
    expect(normalToo - failover).toBeLessThan(SOON);
  });
});

describe('a master that is frozen, replaced and thawed', () => {
  it('grants nothing to a waiter whose process was stopped in the meantime', async () => {
    const [holder, next] = [await locks.start(trio.connection), await locks.start(trio.connection)];
    // The master knows the scripts, so a release that has waited in its socket takes effect there.
    await useOf(holder, 'a');
    // It asks again after 10 s.
    await using waiter = await startLockWorker({ connection: trio.connection, grantTimeout: 10_000 });
    const held = await holder.acquire('a');
    const waiting = waiter.acquire('a', { waitTimeout: '60s' });
    let isGranted = false;
    void waiting.then(() => (isGranted = true));
    const old = await trio.master();
    await eventually(async () => (await old.admin.zcard(redisKey('queue', 'a'))) === 1);
    await old.replicated();
    await old.pause();
    waiter.process.pause();
    const released = timed(held.release());
    await trio.untilMasterIsNot(old);
    const lock = await next.acquire('a', { waitTimeout: '60s' });
    await old.resume();
    // The grant is on its way before the process reads what the Sentinels have announced.
    await eventually(async () => (await old.admin.hexists(redisKey('state', 'a'), held.owner)) === 0);
    waiter.process.resume();
    await throughout(2_000, () => lock.isHeld && !isGranted, { what: 'a lock with a single holder' });
    expect(await lock.release()).toBe(true);
    expect((await waiting).token).toBeGreaterThan(lock.fencingToken);
    await released;
  });
});

describe('with a first Sentinel that cannot be reached', () => {
  let silent: SilentPort;
  beforeEach(async () => {
    silent = await SilentPort.start();
  });
  afterEach(() => silent.close());

  const connection = (): object => {
    const { sentinels, name } = trio.connection;
    return { name, sentinels: [{ host: silent.host, port: silent.port }, ...sentinels.slice(1)] };
  };

  it('a new client starts, and a client that reconnects finds the master', async () => {
    const start = await timed(locks.start(connection()));
    expect(start.error).toBeUndefined();
    expect(start.ran).toBeLessThan(SOON);
    await killConnections(await trio.master());
    const { error, ran } = await timed(useOf(start.value!, 'a'));
    expect(error).toBeUndefined();
    expect(ran).toBeLessThan(SOON);
  });
});
