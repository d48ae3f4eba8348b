import { Socket } from 'node:net';
import { useRedis } from '../../lab/testbed/locks/fault-setups.js';
import { jest } from '@jest/globals';
import { blockEventLoop, FaultLocks } from '../../lab/testbed/locks/fault-locks.js';
import { startWorker, type WorkerProcess } from '../../lab/testbed/workers/processes.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';

const LEASE = 300;
const WORKER = new URL('../../lab/testbed/workers/throwing-worker.mjs', import.meta.url);

interface Story {
  readonly order: readonly string[];
  readonly served: boolean;
  readonly escaped: readonly string[];
  readonly warnings: readonly string[];
}

let redis: RedisServer;
let worker: WorkerProcess | undefined;
const locks = new FaultLocks();

useRedis(locks, (started) => (redis = started));
afterEach(async () => {
  await worker?.kill();
  worker = undefined;
  jest.restoreAllMocks();
});

async function lose(platform: boolean): Promise<Story> {
  worker = await startWorker(WORKER);
  return worker.call('lose', redis.url, { platform });
}

describe('a loss whose observers all throw', () => {
  it('reaches all of them in order: signal, onLost, then observers, and the next waiter is served', async () => {
    const { order, served, escaped, warnings } = await lose(false);
    expect(order).toEqual([
      ...['signal, held: false', 'next listener of the signal', 'onLost'],
      ...['logger', 'subscriber', 'next subscriber', 'structured log'],
    ]);
    expect(served).toBe(true);
    expect(escaped).toEqual([]);
    expect(warnings.filter((text) => text.startsWith('LockObserverWarning'))).toHaveLength(2);
  });

  it('reaches all of them even if Node raises an uncaught exception: a signal, a diagnostics channel', async () => {
    const { order, served, escaped } = await lose(true);
    expect(order).toEqual([
      ...['signal, held: false', 'next listener of the signal', 'onLost'],
      ...['logger', 'subscriber', 'next subscriber', 'structured log', 'channel'],
    ]);
    expect(served).toBe(true);
    expect(escaped).toEqual(['Error: thrown by the signal', 'Error: thrown by the channel']);
  });
});

/** Counts what all clients of this process write from now on. */
function countCommands(): () => number {
  const send = jest.spyOn(Socket.prototype, 'write');
  return () => send.mock.calls.length;
}

describe('a property of a handle whose lease has ended', () => {
  it.each([
    ['isHeld', (service: any) => service.lock.isHeld],
    ['signal', (service: any) => service.lock.isHeld || service.lock.signal],
    ['remainingTime()', (service: any) => service.lock.remainingTime()],
    ['holdCount', (service: any) => service.lock.holdCount],
  ])('%s sends nothing, and the request of the next waiter follows later', async (_, look) => {
    try {
      const service = await locks.start(redis.url);
      const lock = await service.acquire('a', { expire: LEASE });
      const waiting = service.acquire('a', { waitTimeout: '10s' });
      const sent = countCommands();
      blockEventLoop(LEASE);
      expect(look({ lock })).not.toBe(true);
      expect([sent(), lock.signal.aborted, locks.told('lost')]).toEqual([0, true, []]);
      await eventually(() => sent() > 0);
      expect(locks.told('lost')).toHaveLength(1);
      expect(await (await waiting).release()).toBe(true);
    } finally {
      await locks.closeAll();
    }
  });

  it('isLeader of an election sends nothing', async () => {
    try {
      const service = await locks.start(redis.url, { renewedLease: LEASE });
      const order: string[] = [];
      const election = service.getLeaderElection('a', { onDeposed: () => void order.push('onDeposed') });
      election.start();
      await eventually(() => election.isLeader);
      const { signal } = election;
      signal!.addEventListener('abort', () => order.push(`signal, leads: ${election.isLeader}`));
      const sent = countCommands();
      blockEventLoop(LEASE);
      expect(election.isLeader).toBe(false);
      expect([sent(), signal!.aborted, locks.told('lost')]).toEqual([0, true, []]);
      await eventually(() => locks.told('lost').length === 1);
      expect(order).toEqual(['signal, leads: false', 'onDeposed']);
    } finally {
      await locks.closeAll();
    }
  });
});
