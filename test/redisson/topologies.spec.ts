import type { LockService } from 'nestjs-redis-locks';
import { redisson, type RedissonOptions } from 'nestjs-redis-locks/redisson';
import { LockServices } from '../../lab/testbed/locks/lock-services.js';
import { eventually, eventuallyPasses } from '../../lab/testbed/wait/eventually.mjs';
import { RedissonProcess } from '../../lab/testbed/workers/redisson-process.mjs';
import { isFull, LATE, VERSIONS, wakeUps } from './sides.js';
import { cluster, named, sentinels, type Topology } from './topologies.js';

/** How often each side is woken. Between two rounds, this library stays subscribed for some seconds. */
const ROUNDS = isFull ? 5 : 1;
/** Within this time of ms, a failover is over and both sides have found the new master, on a busy machine. */
const FAILED_OVER = 60_000;

describe.each(VERSIONS)('beside Redisson %s', (version) => {
  describe.each([
    ['Sentinels', sentinels, 'NUMSUB'],
    ['a Redis Cluster', cluster, 'SHARDNUMSUB'],
  ] as const)('on %s', (where, start, kind) => {
    const services = new LockServices();
    const processes: RedissonProcess[] = [];
    let topology: Topology;
    let java: RedissonProcess;

    const service = (options: RedissonOptions = {}): Promise<LockService> =>
      services.start({ connection: topology.connection, protocol: redisson(options), commandTimeout: '15s' });
    const redissonProcess = async (detail = topology.java.detail ?? ''): Promise<RedissonProcess> => {
      const started = await RedissonProcess.start(version, { ...topology.java, detail });
      processes.push(started);
      return started;
    };
    const subscribersOf = async (name: string, what: string = kind): Promise<number> => {
      const reply = await topology.call('PUBSUB', what, `redisson_lock__channel:${named(name)}`);
      return Number((reply as unknown[])[1]);
    };
    const untilListening = (name: string, count: number, what: string = kind): Promise<unknown> =>
      eventually(async () => (await subscribersOf(name, what)) === count, { within: FAILED_OVER });

    beforeAll(async () => {
      topology = await start();
      java = await redissonProcess();
    });
    afterEach(() => services.closeAll());
    afterAll(async () => {
      await Promise.all(processes.map((process) => process.kill()));
      await topology.stop();
    });

    /** Both sides know the lock by the same name in Redis. */
    const wake = (locks: LockService, process: RedissonProcess, what: string): Promise<[number, number]> => {
      const listening = (): Promise<number> => subscribersOf('wake', what);
      return wakeUps(locks, process, { key: 'wake', javaKey: named('wake'), rounds: ROUNDS, listening });
    };

    /** Redisson fails commands while a failover lasts, and waits too. They may have been executed. */
    const untilDone = (thread: string, command: string, name: string, ...args: number[]): Promise<void> => {
      const on = java.on(thread);
      const isHeld = !command.endsWith('unlock');
      const state = command.startsWith('fair.') ? 'fair.isHeld' : 'isHeld';
      return eventuallyPasses(
        async () => {
          if ((await on<boolean>(state, name)) !== isHeld) await on(command, name, ...args);
          expect(await on(state, name)).toBe(isHeld);
        },
        { within: FAILED_OVER, every: 100 },
      );
    };

    it('each side is woken by a message of the other', async () => {
      const [ours, theirs] = await wake(await service({ nameMapper: named }), java, kind);
      process.stdout.write(
        `${version} on ${where}: medians of wake-ups: ours ${ours.toFixed(1)} ms, Redisson ${theirs.toFixed(1)} ms\n`,
      );
      // Without messages a waiter here would take 3 s, and one of Redisson 30 s.
      expect(ours).toBeLessThan(isFull ? 50 : 1_000);
      expect(theirs).toBeLessThan(isFull ? 50 : 1_000);
    });

    if (kind === 'SHARDNUMSUB') {
      it('with plain channels, each side is woken by a message of the other', async () => {
        const plain = await redissonProcess('OFF');
        const locks = await service({ nameMapper: named, shardedSubscriptionMode: 'off' });
        const [ours, theirs] = await wake(locks, plain, 'NUMSUB');
        expect(ours).toBeLessThan(isFull ? 50 : 1_000);
        expect(theirs).toBeLessThan(isFull ? 50 : 1_000);
      });
    }

    it('after the failover of a master, holders keep their locks, waiters are woken, and leases end', async () => {
      const locks = await service();
      const acquire = (name: string, options = {}) =>
        locks.acquire(named(name), { waitTimeout: 2 * FAILED_OVER, ...options });
      // Each side has one lock that it keeps, and one lock without renewal, as after a crash.
      const kept = await acquire('ours');
      await java.on('a')('lock', named('theirs'), -1);
      await acquire('our-last', { expire: '5s' });
      await java.on('a')('lock', named('their-last'), 5_000);
      const [weWait, weTakeOver] = [acquire('theirs'), acquire('their-last')];
      const [theyWait, theyTakeOver] = [
        untilDone('b', 'lock', named('ours'), -1),
        untilDone('c', 'tryLock', named('our-last'), 2 * FAILED_OVER, -1),
      ];
      await Promise.all(['theirs', 'their-last', 'ours', 'our-last'].map((name) => untilListening(name, 1)));
      let isEarly = true;
      const early = Promise.race([weWait.then(() => isEarly), theyWait.then(() => isEarly)]);

      await topology.failover();
      await (await weTakeOver).release();
      await theyTakeOver;
      await untilDone('c', 'unlock', named('our-last'));
      await kept.verify();
      await Promise.all(['theirs', 'ours'].map((name) => untilListening(name, 1)));

      isEarly = false;
      const from = performance.now();
      await untilDone('a', 'unlock', named('theirs'));
      await (await weWait).release();
      expect(performance.now() - from).toBeLessThan(LATE);
      expect(await kept.release()).toBe(true);
      await theyWait;
      expect(performance.now() - from).toBeLessThan(LATE);
      await untilDone('b', 'unlock', named('ours'));
      expect(await early).toBe(false);
    });

    it('after each of two failovers, waiters of both sides are served by a fair lock, and nothing is left of it', async () => {
      const [one, other] = [await service(), await service()];
      const [name, queue] = [named('fair'), `redisson_lock_queue:${named('fair')}`];
      const lock = (thread: string): Promise<void> => untilDone(thread, 'fair.lock', name, -1);
      const unlock = (thread: string): Promise<void> => untilDone(thread, 'fair.unlock', name);
      const ours = (locks: LockService) => locks.acquire(name, { fair: true, waitTimeout: 2 * FAILED_OVER });
      const untilQueued = (count: number): Promise<unknown> =>
        eventually(async () => (await topology.call('LLEN', queue)) === count, { within: FAILED_OVER });
      for (let i = 0; i < 2; i++) {
        await topology.whole();
        await lock('a');
        let inside = 1;
        const section = async (leave: () => Promise<unknown>): Promise<void> => {
          expect(++inside).toBe(1);
          inside -= 1;
          await leave();
        };
        const first = ours(one).then((lock) => section(() => lock.release()));
        await untilQueued(1);
        const second = lock('b').then(() => section(() => unlock('b')));
        await untilQueued(2);
        const third = ours(other).then((lock) => section(() => lock.release()));
        await untilQueued(3);
        await topology.failover();
        inside -= 1;
        await unlock('a');
        await Promise.all([first, second, third]);
        await eventually(
          async () => (await topology.call('EXISTS', name, queue, `redisson_lock_timeout:${name}`)) === 0,
          { within: LATE },
        );
      }
    });
  });
});
