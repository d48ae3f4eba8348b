import { SentinelBench, trio } from '../../lab/testbed/locks/sentinel-bench.js';
import { SilentPort } from '../../lab/testbed/proxies/silent-port.mjs';
import { RunningTime } from '../../lab/testbed/wait/running-time.mjs';
import { redisKey, timed, useOf, eventually, throughout, type RedisServer } from '../../lab/testbed/locks/locks.js';

/** ms without an answer until the Sentinels take a server for dead. */
const DOWN_AFTER = 2_000;
/** The time that a reconnect may take, no matter which server does not answer. */
const SOON = 4_000;

const bench = new SentinelBench(trio(DOWN_AFTER));

const first = (): RedisServer => bench.sentinels.sentinels[0]!;

describe('with the first Sentinel frozen', () => {
  it('a client that reconnects finds the master through the others', async () => {
    const service = await bench.service();
    await useOf(service, 'a');
    await first().pause();
    await (await bench.sentinels.master()).cutCommands();
    const { error, ran } = await timed(useOf(service, 'a'));
    expect(error).toBeUndefined();
    expect(ran).toBeLessThan(SOON);
  });

  it('a new client starts', async () => {
    await first().pause();
    const { error, ran } = await timed(bench.service());
    expect(error).toBeUndefined();
    expect(ran).toBeLessThan(SOON);
  });

  it('and the master frozen, too: all works soon after the failover, also for a client that starts in the meantime', async () => {
    const service = await bench.service();
    await useOf(service, 'a');
    const master = await bench.sentinels.master();
    await Promise.all([first().pause(), master.pause()]);
    const time = new RunningTime();
    const started = bench.make();
    const starting = timed(started.start());
    const calling = timed(useOf(service, 'a'));
    await bench.sentinels.untilMasterIsNot(master);
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
    const [holder, next] = await bench.pair();
    // The master knows the scripts, so a release that has waited in its socket takes effect there.
    await useOf(holder, 'a');
    // It asks again after 10 s.
    const waiter = await bench.worker({ grantTimeout: 10_000 });
    const held = await holder.acquire('a');
    const waiting = waiter.acquire('a', { waitTimeout: '60s' });
    let isGranted = false;
    void waiting.then(() => (isGranted = true));
    const old = await bench.sentinels.master();
    await eventually(async () => (await old.admin.zcard(redisKey('queue', 'a'))) === 1);
    await old.replicated();
    await old.pause();
    waiter.process.pause();
    const released = timed(held.release());
    await bench.sentinels.untilMasterIsNot(old);
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
  it('a new client starts, and a client that reconnects finds the master', async () => {
    await using silent = await SilentPort.start();
    const { sentinels, name } = bench.sentinels.connection;
    const connection = { name, sentinels: [{ host: silent.host, port: silent.port }, ...sentinels.slice(1)] };
    const start = await timed(bench.service({ connection }));
    expect(start.error).toBeUndefined();
    expect(start.ran).toBeLessThan(SOON);
    await (await bench.sentinels.master()).cutCommands();
    const { error, ran } = await timed(useOf(start.value!, 'a'));
    expect(error).toBeUndefined();
    expect(ran).toBeLessThan(SOON);
  });
});
