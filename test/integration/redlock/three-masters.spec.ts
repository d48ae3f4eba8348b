import type { LockHandle, LockService } from 'nestjs-redis-locks';
import { Section } from '../../../lab/testbed/locks/section.js';
import { startRedis } from '../../../lab/testbed/servers/redis-server.mjs';
import { RedlockBench } from './support.js';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { eventually, eventuallyPasses } from '../../../lab/testbed/wait/eventually.mjs';
import { timed } from '../../../lab/testbed/locks/locks.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

const bench = new RedlockBench(3);

describe('masters that cannot form a quorum', () => {
  it('are refused if two are the same server, and no lock is granted', async () => {
    const service = bench.make({
      connection: [...bench.urls.slice(0, 2), bench.urls[0]!.replace('127.0.0.1', 'localhost')],
    });
    await expect(service.start()).rejects.toEqual(
      lockError('LOCK_CONFIG', 'masters 1 and 3 of connection are the same server'),
    );
    await expect(service.acquire('a')).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
  });

  it('are refused if one is a node of a Cluster, also without start()', async () => {
    await using node = await startRedis({ args: ['--cluster-enabled', 'yes'] });
    const service = bench.make({ connection: [...bench.urls.slice(0, 2), node.url] });
    await expect(service.start()).rejects.toEqual(
      lockError('LOCK_CONFIG', `master 3 of connection (${node.host}:${node.port}) is a node of a Redis Cluster`),
    );
  });

  it('cause a warning for an even number', async () => {
    await using fourth = await startRedis();
    await bench.service({ connection: [...bench.urls, fourth.url] });
    expect(bench.lines).toContain(
      'warn: connection names 4 masters, an even number: they tolerate no more failures than 3 masters do.',
    );
  });

  it('cause one warning if INFO is not permitted', async () => {
    for (const { admin } of bench.masters) {
      await admin.call('ACL', 'SETUSER', 'locks', 'on', '>secret', '~*', '&*', '+@all', '-info');
    }
    const user = { username: 'locks', password: 'secret', enableReadyCheck: false };
    const connection = bench.masters.map(({ host, port }) => ({ host, port, ...user }));
    const service = await bench.service({ connection });
    const lock = await service.acquire('a');
    expect(await lock.release()).toBe(true);
    expect(bench.lines.filter((line) => line.includes('INFO'))).toHaveLength(1);
  });

  it('may be a client, a URL and options, and the client stays open', async () => {
    const [a, b, c] = bench.masters;
    const client = a!.client();
    const service = await bench.service({ connection: [client, b!.url, { host: c!.host, port: c!.port }] });
    await service.run('a', (lock) => lock.verify());
    await service.close();
    expect(await client.ping()).toBe('PONG');
  });

  it('have no election that asks for replicas: it fails in the background, and does not stand', async () => {
    const service = await bench.service();
    const election = service.getLeaderElection('b', { replicas: { min: 1 } }).start();
    const complaints = (): string[] => bench.lines.filter((line) => /^(warn|error)/.test(line));
    await eventually(() => complaints().length > 0);
    await election.stop();
    expect(complaints()).toEqual([expect.stringMatching(/cannot stand for election to lead 'b': `replicas`/)]);
  });
});

it('a master whose replies get lost does not duplicate, leak or delay a lock', async () => {
  const proxy = bench.endLater(await RespProxy.start(bench.masters[0]!));
  const connection = [proxy.url, ...bench.urls.slice(1)];
  const services = await bench.serviceList(3, { connection, commandTimeout: 3_000 });
  const section = new Section();
  for (let n = 1; n <= 8; n += 1) {
    proxy.cutAfterCommand({ names: ['evalsha', 'eval'], nth: n });
    await Promise.all(services.map((service) => service.run('a', () => section.pass())));
  }
  expect(section).toMatchObject({ most: 1, entries: 8 * 3 });
  await bench.untilNothingIsLeft();
});

const commandTimeout = 1_000;

describe('a handover on three masters', () => {
  it('needs no more than a majority, for the offer and for the adoption', async () => {
    const [one, other] = await bench.pair({ commandTimeout });
    const [first, second] = bench.masters;
    const lock = await one.acquire('a');
    await bench.untilHeldByAll('a');
    await first!.kill();
    const text = await lock.handOver('1m');
    // On a busy machine a master may answer too late for one try.
    let adopted!: LockHandle;
    await eventuallyPasses(async () => {
      adopted = await other.adopt(text);
    });
    expect(adopted.fencingToken).toBeGreaterThan(lock.fencingToken);
    await eventuallyPasses(() => expect(one.adopt(text)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' }));
    await adopted.verify();
    expect(await adopted.release()).toBe(true);
    await bench.untilNothingIsLeft([second!, bench.masters[2]!]);
  });

  it('fails without a majority, and can be repeated with the votes that it has', async () => {
    const [one, other, third] = await bench.serviceList(3, { commandTimeout });
    const [, second, last] = bench.masters;
    const lock = await one.acquire('a');
    await bench.untilHeldByAll('a');
    const text = await lock.handOver('1m');
    await Promise.all([second!.pause(), last!.pause()]);
    await expect(other.adopt(text)).rejects.toMatchObject({ code: 'LOCK_STORE', transient: true });
    await Promise.all([second!.resume(), last!.resume()]);
    await eventuallyPasses(async () => expect((await third.inspect('a'))?.holds).toBeGreaterThan(0));
    await expect(third.adopt(text)).rejects.toMatchObject({ code: expect.stringMatching(/LOCK_(STORE|NOT_HELD)/) });
    await eventuallyPasses(async () => {
      const adopted = await other.adopt(text);
      expect(adopted.fencingToken).toBeGreaterThan(lock.fencingToken);
      expect(await adopted.release()).toBe(true);
    });
  });
});

/** By how many ms a call ends later than its `waitTimeout`, at most: as docs/options.md says. */
const LATEST = 300;

/** ms for a few round trips to servers on this machine, and the time that a frozen master is given. */
const AT_ONCE = 200;
/** ms that a single try takes at most, as docs/failover.md says, and some more. */
const LONGEST_TRY = 2_100 + 100;

/** Services that have their scripts and connections, while some masters do not answer. */
async function servicesWithFrozen(masters: number, count = 1): Promise<LockService[]> {
  const services = await bench.serviceList(count);
  for (const [i, service] of services.entries()) await service.run(`warm:${i}`, () => undefined);
  await Promise.all(bench.masters.slice(0, masters).map((master) => master.pause()));
  return services;
}

/** On a busy machine a try may end without an answer, and in no other way. */
function refuseLasting(errors: readonly unknown[]): void {
  for (const error of errors) {
    if (error !== undefined) expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
  }
}

describe('calls while all masters are frozen', () => {
  for (const count of [1, 60]) {
    it(`end 300 ms after their waitTimeout at the latest: ${count} keys`, async () => {
      const [service] = await servicesWithFrozen(3);
      const keys = Array.from({ length: count }, (_, i) => `job:${i}`);
      const { error, ran } = await timed(service!.acquire(keys, { waitTimeout: 100 }));
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
      expect(ran).toBeLessThan(100 + LATEST);
    });
  }
});

describe('single tries', () => {
  it('get a free key at once while one of three masters is frozen', async () => {
    const [service] = await servicesWithFrozen(1);
    for (const key of ['a', ['b', 'c', 'd']]) {
      // The machine may hold up the masters, so not every try has to be fast.
      let fastest = Infinity;
      for (let round = 0; round < 10; round += 1) {
        const { value, error, ran } = await timed(service!.tryAcquire(key));
        refuseLasting([error]);
        if (error === undefined) expect(value).not.toBeNull();
        if (value) fastest = Math.min(fastest, ran);
        await value?.release();
      }
      expect(fastest).toBeLessThan(AT_ONCE);
    }
  });

  it('have one winner while one of three masters is frozen', async () => {
    const services = await servicesWithFrozen(1, 3);
    const winners: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const tries = await Promise.all(services.map((service) => timed(service.tryAcquire(`job:${round}`))));
      refuseLasting(tries.map(({ error }) => error));
      const locks = tries.flatMap(({ value }) => value ?? []);
      expect(locks.length).toBeLessThanOrEqual(1);
      if (locks.length > 0) winners.push(Math.max(...tries.map(({ ran }) => ran)));
      await Promise.all(locks.map((lock) => lock.release()));
    }
    expect(Math.min(...winners)).toBeLessThan(AT_ONCE);
  });

  it('fail with a transient error while two of three masters are frozen, in a limited time', async () => {
    const [service] = await servicesWithFrozen(2);
    for (const key of ['a', ['b', 'c', 'd']]) {
      const { error, ran } = await timed(service!.tryAcquire(key));
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
      expect(ran).toBeLessThan(LONGEST_TRY);
    }
  });
});
