import type { LockService } from '../../lib/service/lock.service.js';
import { SentinelBench, trio } from '../../lab/testbed/locks/sentinel-bench.js';
import { redisKey, timed, useOf, eventually, type RedisServer } from '../../lab/testbed/locks/locks.js';

/** ms without an answer until the Sentinels take a server for dead. */
const DOWN_AFTER = 2_000;
/** From the fault until all is normal. Locks keep their state if nothing answers for that long. */
const NORMAL = 5_000;

const bench = new SentinelBench(trio(DOWN_AFTER));

const first = (): RedisServer => bench.sentinels.sentinels[0]!;

/** Whether a service takes its locks at a server. */
async function uses(service: LockService, server: RedisServer, key: string): Promise<boolean> {
  const lock = await service.tryAcquire(key);
  if (lock === null) return false;
  const isThere = await server.admin.exists(redisKey('state', key));
  await lock.release();
  return isThere === 1;
}

it('a master that crashes during a confirmation by replicas: their timeout covers the failover', async () => {
  const service = await bench.service({ commandTimeout: '60s' });
  const [old, replica] = [await bench.sentinels.master(), await bench.sentinels.replica()];
  await (await service.acquire('before', { replicas: { min: 1, timeout: '30s' } })).release();
  await replica.pause();
  const taking = timed(service.acquire('a', { expire: '5m', replicas: { min: 1, timeout: '2m' } }));
  await eventually(() => old.admin.exists(redisKey('state', 'a')));
  // The replica has been sent it, and reads it when it resumes.
  await old.kill();
  await replica.resume();
  await bench.sentinels.untilMasterIsNot(old);
  // No replica follows the new master until the old one is back.
  await old.start();
  const { value: lock, error } = await taking;
  expect(error).toBeUndefined();
  await lock!.verify();
  expect(await lock!.release()).toBe(true);
});

describe('with a first Sentinel that is cut off together with the old master', () => {
  it('clients that reach the others leave the old master, and new clients avoid it', async () => {
    const { sentinels, name } = bench.sentinels.connection;
    const services = [
      await bench.service(),
      await bench.service({ connection: { sentinels: [...sentinels].reverse(), name } }),
    ];
    for (const [i, service] of services.entries()) await useOf(service, `own-${i}`);
    const old = await bench.sentinels.master();
    await bench.sentinels.cutOff();
    const master = await bench.sentinels.untilMasterIsNot(old);
    services.push(await bench.service());
    for (const [i, service] of services.entries()) {
      await eventually(() => uses(service, master, `own-${i}`), {
        within: NORMAL,
        what: `service ${i} at the new master`,
      });
    }
    // From now on no client goes back, no matter what the first Sentinel says.
    await Promise.all([old, master].map((server) => server.cutCommands()));
    for (const [i, service] of services.entries()) {
      await eventually(() => uses(service, master, `own-${i}`), { within: NORMAL, what: `service ${i} back` });
      for (let times = 0; times < 20; times++) expect(await uses(service, master, `own-${i}`)).toBe(true);
    }
    // Nor if only the first Sentinel answers.
    const others = bench.sentinels.sentinels.slice(1);
    await Promise.all(others.map((sentinel) => sentinel.pause()));
    await Promise.all([old, master].map((server) => server.cutCommands()));
    for (const [i, service] of services.entries()) {
      await eventually(() => uses(service, master, `own-${i}`), { what: `service ${i} still there` });
      for (let times = 0; times < 20; times++) expect(await uses(service, master, `own-${i}`)).toBe(true);
    }
    await Promise.all(others.map((sentinel) => sentinel.resume()));
    const [one, other] = services as [LockService, LockService];
    const lock = await one.acquire('a');
    expect(await other.tryAcquire('a')).toBeNull();
    await lock.release();
    const told = await first().admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
    expect(told).toEqual([old.host, String(old.port)]);
  });

  it('a master that refuses writes because it lacks replicas makes a client ask the Sentinels again', async () => {
    const { sentinels, name } = bench.sentinels.connection;
    const old = await bench.sentinels.master();
    // Deaf to the news: the connection that announces another master is cut.
    const service = await bench.service({ connection: { sentinels, name, failoverDetector: false } });
    await useOf(service, 'a');
    await old.admin.config('SET', 'min-replicas-to-write', '1');
    await old.admin.config('SET', 'min-replicas-max-lag', '1');
    await bench.sentinels.cutOff();
    const master = await bench.sentinels.untilMasterIsNot(old);
    await eventually(() => uses(service, master, 'a'), { within: NORMAL, every: 50, what: 'the new master' });
  });
});
