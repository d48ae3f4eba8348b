import type { LockService } from '../../lib/service/lock.service.js';
import { SkewedMaster } from '../../lab/testbed/clocks/skewed-master.mjs';
import { RedlockBench } from '../integration/redlock/support.js';
import { redisKey, eventually, type RedisServer } from '../../lab/testbed/locks/locks.js';

const bench = new RedlockBench(3);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const options = { commandTimeout: 3_000 };
const fence = redisKey('fence', 'a');

let masters: SkewedMaster[] = [];
afterEach(() => Promise.all(masters.map((master) => master.close())));

/** A client of masters whose clocks are ahead by so many ms. */
async function skewedBy(...skews: number[]): Promise<LockService> {
  masters = await Promise.all(skews.map((skew, i) => new SkewedMaster(bench.masters[i]!, skew).listen()));
  return bench.service({ ...options, connection: masters.map(({ url }) => url) });
}

/** Applies the effects of elapsed time to the keys of a server, and to its clock, without waiting for it. */
async function pass(ms: number): Promise<void> {
  for (const [i, master] of masters.entries()) {
    master.setSkew(master.skew + ms);
    const { admin, isRunning } = bench.masters[i]!;
    if (!isRunning) continue;
    for (const key of await admin.keys('*')) {
      const left = (await admin.pttl(key)) - ms;
      await (left <= 0 ? admin.del(key) : admin.pexpire(key, left));
    }
  }
}

/** The token of a hold that these masters alone are there to give. */
async function tokenFrom(service: LockService, ...places: number[]): Promise<number> {
  const away = bench.masters.filter((_, place) => !places.includes(place));
  await Promise.all(away.map((master) => master.pause()));
  const lock = await service.acquire('a', { waitTimeout: '20s' });
  await lock.release();
  await Promise.all(away.map((master) => master.resume()));
  return lock.fencingToken;
}

const warnings = (): string[] => bench.lines.filter((line) => line.includes('the clock of'));

describe('masters whose clocks differ', () => {
  it('cause one warning at the start, which names them', async () => {
    const service = await skewedBy(0, HOUR, 0);
    await service.run('a', () => undefined);
    await service.run('b', () => undefined);
    await eventually(() => warnings().length > 0);
    expect(warnings()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^warn: the clock of master 2 of connection \\(127\\.0\\.0\\.1:${masters[1]!.port}\\) is (3599|3600)\\.\\d s ahead of`,
        ),
      ),
    ]);
  });

  it('cause a warning when a clock is set back later, found in regular replies', async () => {
    const service = await skewedBy(0, 0, 0);
    await service.run('a', () => undefined);
    expect(warnings()).toEqual([]);
    masters[2]!.setSkew(-90_000);
    await eventually(
      async () => {
        await service.run('a', () => undefined);
        return warnings().length > 0;
      },
      { within: 20_000, every: 200 },
    );
    expect(warnings()).toEqual([expect.stringMatching(/^warn: the clock of master 3 .* is (89|90)\.\d s behind/)]);
  });

  it('issue growing tokens without the master that is ahead, after its fence has expired', async () => {
    const service = await skewedBy(HOUR, 0, 0);
    const first = await tokenFrom(service, 0, 1);
    await pass(15 * MINUTE);
    const second = await tokenFrom(service, 1, 2);
    expect(second).toBeGreaterThan(first);
    await pass(2 * HOUR);
    // The clocks have passed it, and nothing is kept forever.
    expect(await bench.masters[1]!.admin.exists(fence)).toBe(0);
    expect(await tokenFrom(service, 1, 2)).toBeGreaterThan(second);
  });

  it('issue growing tokens if only a master that was away remembers the last one', async () => {
    const service = await skewedBy(HOUR, 0, 0);
    const [ahead, right, away] = bench.masters as [RedisServer, RedisServer, RedisServer];
    await away.kill();
    const lock = await service.acquire('a', { expire: '1m' });
    await away.start();
    // It takes a vote there, with its token. A request from before the master was away may come first: it is sent again.
    await eventually(async () => {
      await lock.verify();
      const [vote] = await away.admin.hvals(redisKey('state', 'a'));
      if (vote?.split(' ')[3] === String(lock.fencingToken)) return true;
      return (await away.admin.flushall()) !== 'OK';
    });
    await lock.release();
    await right.restart({ empty: true });
    await ahead.pause();
    const next = await service.acquire('a', { waitTimeout: '20s' });
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await next.release();
    await ahead.resume();
    expect(await away.admin.exists(fence)).toBe(1);
  });

  it("issue growing tokens if only a master with another client's vote remembers the last one", async () => {
    const service = await skewedBy(HOUR, 0, 0);
    const [ahead, right, busy] = bench.masters as [RedisServer, RedisServer, RedisServer];
    const until = Date.now() + MINUTE;
    await busy.admin.hset(redisKey('state', 'a'), 'f00:1', `exclusive held ${until} 1 ${Date.now()} f00:1`);
    await busy.admin.pexpire(redisKey('state', 'a'), MINUTE);
    const lock = await service.acquire('a');
    await eventually(() => busy.admin.exists(fence));
    await lock.release();
    await busy.admin.del(redisKey('state', 'a'));
    await right.restart({ empty: true });
    await ahead.pause();
    const next = await service.acquire('a', { waitTimeout: '20s' });
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await next.release();
    await ahead.resume();
  });
});
